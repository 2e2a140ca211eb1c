import { ServiceError, type TurnFailure } from '@switchyard/contracts';
import type { TurnDocument } from '../../model/turn-document.ts';

/**
 * Converts an error to the failure that clients see. Not retryable when tools were called, because a retry would repeat them, or when the
 * turn has an idempotency key, because a retry would replay this failure.
 */
export function toFailure(error: unknown, { turnId, idempotencyKey, steps }: TurnDocument): TurnFailure {
  if (!(error instanceof ServiceError)) return { code: 'INTERNAL', message: 'Internal error', details: { turnId } };
  // A step is checkpointed before its tools are called. Merges and the instructions of a skill have no side effects.
  const final = steps.some(isStep) || idempotencyKey !== undefined || !error.retryable;
  return { code: error.code, message: error.message, details: { ...error.details, turnId, ...(final ? { retryable: false } : {}) } };
}

function isStep(mark: unknown): boolean {
  const { mark: kind } = mark as { mark?: unknown };
  return kind !== 'heard' && kind !== 'skill';
}

/** Restores the error of a stored failure. */
export function toError(failure: TurnFailure): ServiceError {
  return new ServiceError(failure.code, failure.message, { details: failure.details ?? {} });
}
