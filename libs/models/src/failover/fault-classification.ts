import { ServiceError } from '@switchyard/contracts';
import type { FailedCall } from './circuit-breakers.ts';

/** Failures of a key. Another key may work. */
const KEY_REASONS: ReadonlySet<unknown> = new Set(['PROVIDER_AUTH', 'PROVIDER_QUOTA', 'PROVIDER_RATE_LIMITED']);
/** Failures of the provider, independent of the key. */
const PROVIDER_REASONS: ReadonlySet<unknown> = new Set([
  'PROVIDER_UNAVAILABLE',
  'PROVIDER_UNREACHABLE',
  'STREAM_CUT',
  'BAD_RESPONSE',
  'MODEL_STALLED',
]);
/** Failures of a provider that answers others: its answer to this request was late, cut or malformed. */
const REQUEST_REASONS: ReadonlySet<unknown> = new Set(['STREAM_CUT', 'BAD_RESPONSE', 'MODEL_STALLED']);
/** Failures of the configuration or of this process. */
const NEUTRAL_REASONS: ReadonlySet<unknown> = new Set(['MODEL_NOT_FOUND', 'PROVIDER_NOT_CONFIGURED', 'PROVIDER_URL', 'UPSTREAM_CROWDED']);

/** The classification of a failed call. */
export interface Fault {
  key: boolean;
  provider: boolean;
  /** Whether the failure counts for the circuit breaker. A rejected key does not, because a new key works immediately. */
  tripsBreaker: boolean;
  /** Whether the request of the client may be the cause, so that others are not affected. */
  mayBeRequest: boolean;
  /** Whether another model may succeed. Invalid requests fail with every model. */
  triesNext: boolean;
}

export function classifyFault(error: unknown): Fault {
  const reason = error instanceof ServiceError ? error.details.reason : undefined;
  const [key, provider] = [KEY_REASONS.has(reason), PROVIDER_REASONS.has(reason)];
  const breaks = provider || (key && reason !== 'PROVIDER_AUTH');
  return {
    key,
    provider,
    tripsBreaker: breaks,
    mayBeRequest: REQUEST_REASONS.has(reason),
    triesNext: key || provider || NEUTRAL_REASONS.has(reason),
  };
}

export const CIRCUIT_OPEN = 'CIRCUIT_OPEN';

/** Creates the error for a chain whose circuit breakers are all open. */
export function circuitOpenError(
  agentId: string,
  model: string,
  { waitMs, lastError }: { waitMs: number; lastError: FailedCall | undefined },
): ServiceError {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs));
  return new ServiceError(
    'UNAVAILABLE',
    `The circuit breaker of the model ${model} of the agent ${agentId} is open after repeated failures: ${lastError?.message ?? ''}`,
    {
      details: { reason: CIRCUIT_OPEN, retryAfterMs, ...(lastError?.reason === undefined ? {} : { cause: lastError.reason }) },
    },
  );
}

export function modelNotAllowedError(agentId: string, model: string): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `The agent ${agentId} may not use the model ${model}: add it to agents.${agentId}.modelFailover.allowedModels, or choose a listed one.`,
    { details: { reason: 'MODEL_NOT_ALLOWED' } },
  );
}
