import { ServiceError } from '@switchyard/contracts';

/** Of the key: another one may be taken. */
const OF_THE_KEY: ReadonlySet<unknown> = new Set(['PROVIDER_AUTH', 'PROVIDER_QUOTA', 'PROVIDER_RATE_LIMITED']);
/** Of the provider: whoever asks it, and with whatever key. */
const OF_THE_PROVIDER: ReadonlySet<unknown> = new Set([
  'PROVIDER_UNAVAILABLE',
  'PROVIDER_UNREACHABLE',
  'STREAM_CUT',
  'BAD_RESPONSE',
  'MODEL_STALLED',
]);
/** Of what is configured, or of this process: no fault of anybody who was asked. */
const OF_NOBODY: ReadonlySet<unknown> = new Set(['MODEL_NOT_FOUND', 'PROVIDER_NOT_CONFIGURED', 'PROVIDER_URL', 'UPSTREAM_CROWDED']);

/** What a failed call says. */
export interface Fault {
  key: boolean;
  provider: boolean;
  /** Asking on and on makes it worse. A key that was refused is not such a fault: whoever sets another one is answered at once. */
  breaks: boolean;
  /** Another model may answer. What was wrong with the request is wrong for every model. */
  elsewhere: boolean;
}

export function faultOf(error: unknown): Fault {
  const reason = error instanceof ServiceError ? error.details.reason : undefined;
  const [key, provider] = [OF_THE_KEY.has(reason), OF_THE_PROVIDER.has(reason)];
  const breaks = provider || (key && reason !== 'PROVIDER_AUTH');
  return { key, provider, breaks, elsewhere: key || provider || OF_NOBODY.has(reason) };
}

export const CIRCUIT_OPEN = 'CIRCUIT_OPEN';

/** All that an agent may ask kept failing, and is left alone. */
export function circuitOpen(agentId: string, model: string, { waitMs, why }: { waitMs: number; why: string }): ServiceError {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs));
  return new ServiceError('UNAVAILABLE', `The model ${model} of the agent ${agentId} kept failing, and is left alone for a while: ${why}`, {
    details: { reason: CIRCUIT_OPEN, retryAfterMs },
  });
}

export function notAllowed(agentId: string, model: string): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `The agent ${agentId} may not use the model ${model}: name it in agents.${agentId}.modelFailover.allowedModels, or choose one that is named there.`,
    { details: { reason: 'MODEL_NOT_ALLOWED' } },
  );
}
