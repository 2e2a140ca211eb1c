import { ServiceError } from '@switchyard/contracts';

/** Returns whether an operation failed because something was away for a moment. */
export function isTransient(error: unknown): boolean {
  return error instanceof ServiceError && (error.retryable || error.code === 'UNAVAILABLE' || error.code === 'ABORTED');
}
