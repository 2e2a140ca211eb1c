import type { AgentConfig, EventPayload } from '@switchyard/contracts';
import type { ModelRef, Models, ModelUsage } from '../model/model.ts';

/** Who asks, and what the configuration says of how. */
export interface Asker {
  tenant: string;
  agentId: string;
  config: Pick<AgentConfig, 'modelFailover' | 'circuitBreaker' | 'sdkRetry' | 'promptTimeout' | 'oauthProfiles'>;
}

type FailoverEventName =
  | 'model:fallback_attempt'
  | 'model:fallback_exhausted'
  | 'model:auth_cooldown'
  | 'provider:degraded'
  | 'provider:recovered';

/** What is told to whoever watches. */
export type FailoverEvent = { [N in FailoverEventName]: { name: N; payload: EventPayload<N> } }[FailoverEventName];

export type Tell = (event: FailoverEvent) => void;

/** Models that are asked one after another until one answers. */
export interface Failover {
  /**
   * Asks as `Models` does, and where a model fails before it has said anything the next one of the agent's chain. What each said and
   * how it failed is remembered, in this process, for who asks next.
   */
  for(asker: Asker): Pick<Models, 'tell' | 'complete'>;
  /** A secret was set: no key rests any more. */
  forgetKeys(): void;
}

/** What one call of a model took. */
export interface Answered {
  model: ModelRef;
  usage: ModelUsage;
  costUsd: number;
}

export interface FailoverDeps {
  models: Pick<Models, 'tell' | 'complete'>;
  /** Milliseconds that passed since some moment. */
  now: () => number;
  tell: (tenant: string, event: FailoverEvent) => void;
  /** A model answered whole. Development models are not told. */
  answered?: (asker: Asker, answer: Answered) => void;
  log?: { warn: (fields: object, message: string) => void };
}
