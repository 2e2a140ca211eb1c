import { ServiceError } from '@switchyard/contracts';

/** Whether there is none or it is another tenant's: nobody is told which. */
export function unknownBlob(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no blob ${id}.`, { details: { reason: 'BLOB_UNKNOWN' } });
}

/** It was there, and is until it is swept. */
export function expiredBlob(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The blob ${id} has expired.`, { details: { reason: 'BLOB_EXPIRED' } });
}

export function alreadyWhole(id: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `All of ${id} is there already; its status has the reference.`, {
    details: { reason: 'BLOB_WHOLE' },
  });
}

/** Says where to go on, so that nobody has to ask. */
export function wrongOffset(asked: number, offset: number): ServiceError {
  return new ServiceError('OUT_OF_RANGE', `The bytes begin at ${asked}, but ${offset} are there: go on at ${offset}.`, {
    details: { reason: 'WRONG_OFFSET', offset },
  });
}

export function beyondEnd(offset: number, size: number): ServiceError {
  return new ServiceError('OUT_OF_RANGE', `Reading would begin at ${offset}, behind the end at ${size}.`, {
    details: { reason: 'BEYOND_END' },
  });
}

export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The blob is larger than the ${maxBytes} bytes that one may have.`, {
    details: { reason: 'PAYLOAD_TOO_LARGE' },
  });
}

export function notWhatWasSent(): ServiceError {
  return new ServiceError('DATA_LOSS', 'What arrived is not what was sent: its SHA-256 is another. It was thrown away; send it again.', {
    details: { reason: 'CHECKSUM', retryable: true },
  });
}

export function notWhatWasWritten(id: string): ServiceError {
  return new ServiceError('DATA_LOSS', `What is kept of ${id} is not what was written: its SHA-256 is another.`, {
    details: { reason: 'CHECKSUM' },
  });
}

export function takenOver(id: string): ServiceError {
  return new ServiceError('ABORTED', `Somebody else goes on with ${id}.`, { details: { reason: 'TAKEN_OVER', retryable: false } });
}

export function idle(what: string, ms: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `Nothing moved in ${what} for ${ms / 1_000} seconds.`, {
    details: { reason: 'IDLE', retryable: true },
  });
}

export function left(): ServiceError {
  return new ServiceError('CANCELLED', 'The transfer was cancelled.');
}

export function closed(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The blob store is closed.', { details: { reason: 'SHUTTING_DOWN' } });
}

/** There is no room on the disk or in the database. */
export function storeFull(cause: unknown): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', 'There is no room left where blobs are kept.', {
    details: { reason: 'STORE_FULL', retryable: false },
    cause,
  });
}

export function storeAway(cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The place where blobs are kept cannot be used.', { details: { reason: 'STORE_AWAY' }, cause });
}

const PATIENCE_MS = 1_000;

export function tooMany(what: string, most: number): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', `There are ${most} ${what} already.`, {
    details: { reason: 'TOO_MANY_TRANSFERS', retryAfterMs: PATIENCE_MS },
  });
}
