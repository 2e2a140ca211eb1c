import { servicePrincipal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { createFailover, type Failover, type FailoverDeps, type Models } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agent } from './agent-directory.ts';

export interface ModelAccessDeps {
  models: Models;
  /** Without it only the requested model is called. */
  failover?: Failover;
}

/** Who calls a model; without a client it is work that no client requested. */
export interface ModelCaller {
  tenant: string;
  client?: string;
}

/** Model calls with the settings of an agent. */
export type ModelAccess = Pick<Models, 'streamTo' | 'complete'>;

export function accessModels(
  { models, failover }: ModelAccessDeps,
  { tenant, client }: ModelCaller,
  { agentId, config }: Agent,
): ModelAccess {
  const requested = failover?.forAgent({ tenant, agentId, client, config }) ?? models;
  return {
    streamTo: (request, sendMessage) => requested.streamTo({ ...request, preferences: config }, sendMessage),
    complete: (request) => requested.complete({ ...request, preferences: config }),
  };
}

interface FailoverGiven {
  models: Models;
  bus: Bus;
  clock: Clock;
  log: Logger;
  answered: NonNullable<FailoverDeps['onAnswered']>;
}

/** Creates the failover state of this replica. Its events are best effort. */
export function openFailover({ models, bus, clock, log, answered }: FailoverGiven): Failover {
  return createFailover({
    models,
    onAnswered: answered,
    now: () => clock.now(),
    publish: (tenant, { name, payload }) => bus.as(servicePrincipal('sessions', tenant)).emit(name, payload),
    log: {
      warn: (fields, message) =>
        log.warn({ ...fields, errorKind: 'dependency', hint: 'trying the next model or key of the agent' }, message),
    },
  });
}
