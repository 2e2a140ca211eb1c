import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { BODY_TOO_LARGE, INTERNAL, findRefusal, RefusalError, type Refusal } from '../request/refusal.ts';

/** The scheduler wakes agents, and nothing serves it. */
export const NO_WAKING: Refusal = {
  status: 503,
  message: 'Nothing here can wake an agent yet: use a mapping with the action agent',
  code: 'UNAVAILABLE',
  retryAfterMs: 60_000,
};

/** Answers are delivered by channels, and nothing serves them: who wants one delivered is not told that it will be. */
export const NO_DELIVERING: Refusal = {
  status: 503,
  message: 'Nothing here can deliver an answer to a channel yet: use a mapping without deliver',
  code: 'UNAVAILABLE',
  retryAfterMs: 60_000,
};

const TOO_LARGE: Refusal = { status: 400, message: 'Request body exceeds maximum size', code: 'OUT_OF_RANGE' };

/** Errors after which the sender should retry. Other errors are faults of the gateway or its configuration. */
const LATER: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'ABORTED']);
const RETRY_MS = 1_000;

/** An error as senders are told it: one sentence, and never what is configured here. */
export function hookRefusal(error: unknown): Refusal {
  if (error instanceof RefusalError) return { ...(error.refusal === BODY_TOO_LARGE ? TOO_LARGE : error.refusal), bare: true };
  const known = findRefusal(error);
  if (known === undefined || !(error instanceof ServiceError) || !LATER.has(error.code)) return { ...INTERNAL, bare: true };
  return { retryAfterMs: RETRY_MS, ...known, message: 'The webhook cannot be kept now; send it again', bare: true };
}
