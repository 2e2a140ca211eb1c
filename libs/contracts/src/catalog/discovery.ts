import { z } from 'zod';
import { unserved } from './unserved-methods.ts';
import { Timestamp } from '../values/common.ts';
import { SERVICES, type Contract, type ServiceName } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { contracts, type MethodName } from './contracts.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Readiness of a replica: whether it can do work, and what it is missing if not. */
export const ReplicaReadiness = z.object({
  ready: z.boolean(),
  status: boundedString(MAX.id),
  dependencies: z
    .record(boundedString(MAX.name), z.object({ ready: z.boolean(), reason: boundedString(MAX.line).optional(), since: Timestamp }))
    .check(maxKeys(MAX.many)),
});
export type ReplicaReadiness = z.infer<typeof ReplicaReadiness>;

/** Call statistics of one method of a replica since its start. */
export const EndpointUse = z.object({
  method: boundedString(MAX.name),
  requests: z.int().nonnegative(),
  errors: z.int().nonnegative(),
  lastError: boundedString(MAX.line),
  averageMs: z.number().nonnegative(),
});
export type EndpointUse = z.infer<typeof EndpointUse>;

/** One running copy of a service, as it answers for itself on the bus. */
export const Replica = z.object({
  service: boundedString(MAX.id),
  replica: boundedString(MAX.id),
  version: boundedString(MAX.name),
  startedAt: Timestamp,
  pid: z.int().positive(),
  host: boundedString(MAX.name),
  /** Set in detailed status results only. */
  readiness: ReplicaReadiness.optional(),
  endpoints: z.array(EndpointUse).max(MAX.many).optional(),
});
export type Replica = z.infer<typeof Replica>;

const ReplicaOfOne = Replica.omit({ service: true });

/**
 * `down`: an installed service without a running replica. `absent`: `gateway.installedServices` does not name it. `unbuilt`: no code
 * serves the contract yet.
 */
export const ServiceState = z.enum(['up', 'down', 'absent', 'unbuilt']);
export type ServiceState = z.infer<typeof ServiceState>;

/** One service, and who answers for it now. */
export const ServicePresence = z.object({
  service: boundedString(MAX.id),
  state: ServiceState,
  replicas: z.array(ReplicaOfOne).max(MAX.many),
});
export type ServicePresence = z.infer<typeof ServicePresence>;

/** Whether any code answers for the service: the list of methods without a handler says which do not. */
export function isBuilt(service: ServiceName): boolean {
  const { methods }: Contract = contracts[service];
  return Object.keys(methods).some((name) => !unserved.has(name as MethodName));
}

/** Services that a gateway requires: tokens and keys, agents and settings, turns. Without another service the gateway is degraded. */
export const GATEWAY_DEPENDENCIES: readonly ServiceName[] = ['secrets', 'registry', 'sessions'];

/** The built services in start order: the dependencies of the gateway, the other services, the gateway. */
export function listBuiltServices(): readonly ServiceName[] {
  const others = SERVICES.filter((service) => service !== 'gateway' && !GATEWAY_DEPENDENCIES.includes(service));
  return [...GATEWAY_DEPENDENCIES, ...others, 'gateway' as const].filter(isBuilt);
}

/**
 * Whether an installation includes a service. `installed` is `gateway.installedServices`: an empty list stands for all services, and the
 * gateways and their dependencies are always part of an installation.
 */
export function isInstalled(service: ServiceName, installed: readonly ServiceName[]): boolean {
  return installed.length === 0 || service === 'gateway' || GATEWAY_DEPENDENCIES.includes(service) || installed.includes(service);
}

/** All services with the replicas that answered. Replicas of unknown services on the same bus are left out. */
export function servicePresence(answered: readonly Replica[], installed: readonly ServiceName[] = []): ServicePresence[] {
  return SERVICES.map((service) => {
    const replicas = answered.filter((one) => one.service === service).map((one) => ReplicaOfOne.parse(one));
    return { service, state: replicas.length > 0 ? 'up' : stateWithoutReplica(service, installed), replicas };
  });
}

function stateWithoutReplica(service: ServiceName, installed: readonly ServiceName[]): ServiceState {
  if (!isBuilt(service)) return 'unbuilt';
  return isInstalled(service, installed) ? 'down' : 'absent';
}
