import type { AgentConfig, EventPayload } from '@switchyard/contracts';
import type { ModelRef, Models, ModelUsage } from '../model/model.ts';

/** The agent of a call and its failover settings. */
export interface FailoverContext {
  tenant: string;
  agentId: string;
  /** The client that calls. Failures that its request may have caused close the model to this client only. */
  client?: string | undefined;
  config: Pick<AgentConfig, 'modelFailover' | 'circuitBreaker' | 'sdkRetry' | 'promptTimeout' | 'oauthProfiles'>;
}

type FailoverEventName =
  | 'model:fallback_attempt'
  | 'model:fallback_exhausted'
  | 'model:auth_cooldown'
  | 'provider:degraded'
  | 'provider:recovered';

/** A failover event. */
export type FailoverEvent = { [N in FailoverEventName]: { name: N; payload: EventPayload<N> } }[FailoverEventName];

export type PublishEvent = (event: FailoverEvent) => void;

/** Calls models along an agent's chain until one responds. */
export interface Failover {
  /**
   * Returns the models of an agent. If a model fails before it has sent text, the next one of the chain is called. Failures are tracked
   * in this process for later calls.
   */
  forAgent(asker: FailoverContext): Pick<Models, 'streamTo' | 'complete'>;
  /** Clears all key cooldowns after a secret was changed. */
  clearKeyCooldowns(): void;
}

/** Usage and cost of one call. */
export interface AnsweredCall {
  model: ModelRef;
  usage: ModelUsage;
  costUsd: number;
}

export interface FailoverDeps {
  models: Pick<Models, 'streamTo' | 'complete'>;
  /** A monotonic clock in milliseconds. */
  now: () => number;
  publish: (tenant: string, event: FailoverEvent) => void;
  /** Called for each complete response, except of development models. */
  onAnswered?: (asker: FailoverContext, answer: AnsweredCall) => void;
  log?: { warn: (fields: object, message: string) => void };
}
