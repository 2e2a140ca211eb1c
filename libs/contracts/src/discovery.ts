import { z } from 'zod';
import { unserved } from './burn-down.ts';
import { Timestamp } from './common.ts';
import { SERVICES, type Contract, type ServiceName } from './define.ts';
import { contracts, type MethodName } from './registry.ts';
import { MAX, upTo } from './sizes.ts';

/** One running copy of a service, as it answers for itself on the bus. */
export const Replica = z.object({
  service: upTo(MAX.id),
  replica: upTo(MAX.id),
  version: upTo(MAX.name),
  startedAt: Timestamp,
  pid: z.int().positive(),
  host: upTo(MAX.name),
});
export type Replica = z.infer<typeof Replica>;

const ReplicaOfOne = Replica.omit({ service: true });

/** `down`: nobody answers, though somebody should. `unbuilt`: nobody answers, and no code serves it yet. */
export const ServiceState = z.enum(['up', 'down', 'unbuilt']);
export type ServiceState = z.infer<typeof ServiceState>;

/** One service, and who answers for it now. */
export const ServicePresence = z.object({
  service: upTo(MAX.id),
  state: ServiceState,
  replicas: z.array(ReplicaOfOne).max(MAX.many),
});
export type ServicePresence = z.infer<typeof ServicePresence>;

/** Whether any code answers for the service: the list of methods without a handler says which do not. */
export function isBuilt(service: ServiceName): boolean {
  const { methods }: Contract = contracts[service];
  return Object.keys(methods).some((name) => !unserved.has(name as MethodName));
}

/** Every service there should be, with the replicas that answered. Those of others on the same bus are left out. */
export function servicePresence(answered: readonly Replica[]): ServicePresence[] {
  return SERVICES.map((service) => {
    const replicas = answered.filter((one) => one.service === service).map((one) => ReplicaOfOne.parse(one));
    const absent: ServiceState = isBuilt(service) ? 'down' : 'unbuilt';
    return { service, state: replicas.length > 0 ? 'up' : absent, replicas };
  });
}
