import { ServiceError, type ErrorCode, type TurnFailure } from '@switchyard/contracts';

/** Converts the failure of a turn to an error. */
export function toServiceError({ code, message, details }: TurnFailure): ServiceError {
  return new ServiceError(code, message, { details: details ?? {} });
}

export function createFrameGapError(turnId: string): ServiceError {
  return new ServiceError('DATA_LOSS', 'Frames of the turn were lost.', { details: { reason: 'STREAM_GAP', turnId } });
}

export function createSilentTurnError(turnId: string): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The turn stopped sending frames.', { details: { reason: 'STREAM_SILENT', turnId } });
}

export function createShutdownError(turnId: string): ServiceError {
  const message = 'The gateway is shutting down. The turn continues.';
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'SHUTTING_DOWN', turnId } });
}

/** Codes that report a missing reply and say nothing about the turn. */
const NOT_RECEIVED_CODES: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'DATA_LOSS']);

/** Creates the error of an accepted turn that cannot be followed. The turn may continue, so a retry needs the same idempotency key. */
export function createNotFollowedError(error: ServiceError, { turnId, repeatable }: { turnId: string; repeatable: boolean }): ServiceError {
  const { code, message, details, cause } = error;
  const retryable = repeatable && (error.retryable || NOT_RECEIVED_CODES.has(code));
  return new ServiceError(code, message, { details: { ...details, turnId, retryable }, cause });
}
