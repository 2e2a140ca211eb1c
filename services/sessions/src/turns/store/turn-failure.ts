import { ServiceError, type TurnFailure } from '@switchyard/contracts';
import type { TurnDocument } from '../../model/turn-document.ts';

/**
 * An error as the readers of a turn see it. Asking again would repeat what its tools did, and under its own key would only be told
 * of this failure again.
 */
export function toFailure(error: unknown, { turnId, idempotencyKey, steps }: TurnDocument): TurnFailure {
  if (!(error instanceof ServiceError)) return { code: 'INTERNAL', message: 'Internal error', details: { turnId } };
  // A step is noted before the tools that it calls are; to have heard somebody else is to have done nothing.
  const final = steps.some(isStep) || idempotencyKey !== undefined || !error.retryable;
  return { code: error.code, message: error.message, details: { ...error.details, turnId, ...(final ? { retryable: false } : {}) } };
}

function isStep(mark: unknown): boolean {
  return (mark as { mark?: unknown }).mark !== 'heard';
}

/** A stored failure as the error it was. */
export function toError(failure: TurnFailure): ServiceError {
  return new ServiceError(failure.code, failure.message, { details: failure.details ?? {} });
}
