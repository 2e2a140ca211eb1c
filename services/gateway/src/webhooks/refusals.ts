import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { BODY_TOO_LARGE, INTERNAL, findRefusal, RefusalError, type Refusal } from '../request/refusal.ts';

/** No service implements the action `wake` yet. */
export const WAKE_UNSUPPORTED: Refusal = {
  status: 503,
  message: 'The action wake is not supported. Use a mapping with the action agent.',
  code: 'UNAVAILABLE',
  retryAfterMs: 60_000,
};

/** No service delivers responses to channels yet. Such a webhook is rejected, because its response would be lost. */
export const DELIVERY_UNSUPPORTED: Refusal = {
  status: 503,
  message: 'Delivery to a channel is not supported. Use a mapping without deliver.',
  code: 'UNAVAILABLE',
  retryAfterMs: 60_000,
};

const TOO_LARGE: Refusal = { status: 400, message: 'Request body exceeds maximum size', code: 'OUT_OF_RANGE' };

/** Errors after which the sender should retry. Other errors are faults of the gateway or its configuration. */
const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'ABORTED']);
const RETRY_MS = 1_000;

/** Converts an error to a refusal for senders: one sentence, without details of the configuration. */
export function toHookRefusal(error: unknown): Refusal {
  if (error instanceof RefusalError) return { ...(error.refusal === BODY_TOO_LARGE ? TOO_LARGE : error.refusal), bare: true };
  const refusal = findRefusal(error);
  if (refusal === undefined || !(error instanceof ServiceError) || !RETRYABLE_CODES.has(error.code)) return { ...INTERNAL, bare: true };
  return { retryAfterMs: RETRY_MS, ...refusal, message: 'The webhook cannot be stored at the moment. Send it again.', bare: true };
}
