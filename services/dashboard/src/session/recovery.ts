import { RpcError } from '@switchyard/client';
import { RouteError } from './route-error.ts';

const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;
/** Errors of calls that another attempt cannot mend. */
const LASTING: ReadonlySet<string> = new Set([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'FAILED_PRECONDITION',
]);

/** Returns whether the same reading call may succeed later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof RouteError) return error.status >= 500 || error.status === 429;
  return !(error instanceof RpcError && LASTING.has(error.data.code));
}

/**
 * Returns the time until a failed read is repeated, in milliseconds, or false if it is not repeated. It grows with the number of failures,
 * and is never less than the time that the gateway asks for.
 */
export function getRetryDelay(error: unknown, failures: number, isSignedIn: boolean): number | false {
  if (!isSignedIn || !isTransient(error)) return false;
  const backoff = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, Math.max(0, failures - 1)));
  return Math.max(backoff, getRetryAfterMs(error) ?? 0);
}

/** Returns the time that the gateway asks to wait after 429 or 503. */
export function getRetryAfterMs(error: unknown): number | undefined {
  return error instanceof RpcError ? error.data.retryAfterMs : undefined;
}

/** Returns whether a call failed because no replica of its service answers. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof RpcError && error.data.reason === 'NO_RESPONDERS';
}
