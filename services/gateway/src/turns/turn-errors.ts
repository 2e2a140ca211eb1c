import { ServiceError, type ErrorCode, type TurnFailure } from '@switchyard/contracts';

/** The failure that ended a turn, as the error it was. */
export function toServiceError({ code, message, details }: TurnFailure): ServiceError {
  return new ServiceError(code, message, { details: details ?? {} });
}

export function createFrameGapError(turnId: string): ServiceError {
  return new ServiceError('DATA_LOSS', 'A part of the answer was lost.', { details: { reason: 'STREAM_GAP', turnId } });
}

export function createSilentTurnError(turnId: string): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The turn fell silent.', { details: { reason: 'STREAM_SILENT', turnId } });
}

export function createShutdownError(turnId: string): ServiceError {
  const message = 'The gateway is shutting down and could not wait for the turn, which goes on.';
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'SHUTTING_DOWN', turnId } });
}

/** Codes that say that something did not come, and nothing of the turn. */
const NOT_RECEIVED_CODES: ReadonlySet<ErrorCode> = new Set(['DEADLINE_EXCEEDED', 'DATA_LOSS']);

/** Why an accepted turn cannot be followed. It may go on, so asking again would ask twice, unless that names the same turn. */
export function createNotFollowedError(error: ServiceError, { turnId, repeatable }: { turnId: string; repeatable: boolean }): ServiceError {
  const { code, message, details, cause } = error;
  const retryable = repeatable && (error.retryable || NOT_RECEIVED_CODES.has(code));
  return new ServiceError(code, message, { details: { ...details, turnId, retryable }, cause });
}
