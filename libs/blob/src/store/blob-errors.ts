import { ServiceError } from '@switchyard/contracts';

/** Does not reveal whether the blob exists for another tenant. */
export function unknownBlob(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `Blob ${id} not found.`, { details: { reason: 'BLOB_UNKNOWN' } });
}

/** The blob expired but was not swept yet. */
export function expiredBlob(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The blob ${id} has expired.`, { details: { reason: 'BLOB_EXPIRED' } });
}

export function blobExists(id: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `The blob ${id} exists already.`, { details: { reason: 'BLOB_WHOLE' } });
}

export function blobKept(id: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The blob ${id} is kept by an owner; only its owner can release it.`, {
    details: { reason: 'BLOB_KEPT' },
  });
}

/** Does not name the other owner. */
export function blobOwned(id: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The blob ${id} belongs to another owner.`, { details: { reason: 'BLOB_OWNED' } });
}

export function quotaExceeded(maxBytes: number): ServiceError {
  return new ServiceError(
    'RESOURCE_EXHAUSTED',
    `The tenant may keep at most ${maxBytes} bytes of files. Delete files, or increase SWITCHYARD_BLOB_TENANT_BYTES.`,
    { details: { reason: 'BLOB_QUOTA_EXCEEDED', retryable: false } },
  );
}

export function offsetBeyondEnd(offset: number, size: number): ServiceError {
  return new ServiceError('OUT_OF_RANGE', `The offset ${offset} is beyond the end of the blob at ${size} bytes.`, {
    details: { reason: 'BEYOND_END' },
  });
}

export function blobTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The blob exceeds the limit of ${maxBytes} bytes.`, {
    details: { reason: 'PAYLOAD_TOO_LARGE' },
  });
}

export function uploadCorrupted(): ServiceError {
  return new ServiceError('DATA_LOSS', 'The SHA-256 of the received bytes does not match. The upload was discarded; send it again.', {
    details: { reason: 'CHECKSUM', retryable: true },
  });
}

export function blobCorrupted(id: string): ServiceError {
  return new ServiceError('DATA_LOSS', `The SHA-256 of the stored blob ${id} does not match.`, { details: { reason: 'CHECKSUM' } });
}

export function transferIdle(name: string, ms: number): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The ${name} made no progress for ${ms / 1_000} seconds.`, {
    details: { reason: 'IDLE', retryable: true },
  });
}

export function transferCancelled(): ServiceError {
  return new ServiceError('CANCELLED', 'The transfer was cancelled.');
}

export function storeClosed(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The blob store is closed.', { details: { reason: 'SHUTTING_DOWN' } });
}

/** The disk or the database has no space left. */
export function storeFull(cause: unknown): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', 'The blob store has no space left.', {
    details: { reason: 'STORE_FULL', retryable: false },
    cause,
  });
}

export function storeUnavailable(cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The storage of the blob store is not available.', { details: { reason: 'STORE_AWAY' }, cause });
}

const RETRY_AFTER_MS = 1_000;

export function tooManyTransfers(name: string, max: number): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', `The limit of ${max} ${name} is reached.`, {
    details: { reason: 'TOO_MANY_TRANSFERS', retryAfterMs: RETRY_AFTER_MS },
  });
}
