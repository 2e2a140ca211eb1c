import { MongoNetworkError, MongoNetworkTimeoutError, MongoServerError } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { misuseError } from '../../port/store-misuse.ts';

const TOO_LARGE = new Set([10334, 17419, 17420]);
const NESTED_TOO_DEEPLY = 15;
const NOT_AUTHENTICATED = new Set([13, 18]);
/** A time limit on the server, or of the write concern. */
const TIMED_OUT = new Set([50, 64, 202, 262]);
/** The server is not primary, is shutting down, or has too many write conflicts. */
const UNAVAILABLE = new Set([6, 7, 89, 91, 112, 189, 9001, 10107, 11600, 11602, 13435, 13436]);
const INVALID_DOCUMENT = 121;
const DUPLICATE_KEY = 11000;
/** An update operator does not match the type of the stored value. */
const TYPE_MISMATCH = new Set([2, 14]);

const WAIT_TIMEOUTS = new Set(['MongoServerSelectionError', 'MongoWaitQueueTimeoutError']);
const DISCONNECTED = new Set([
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoServerClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
]);

export function isDuplicateKey(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

export function isTypeMismatch(error: unknown): boolean {
  return error instanceof MongoServerError && TYPE_MISMATCH.has(Number(error.code));
}

export function isAuthenticationError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_AUTHENTICATED.has(Number(error.code));
}

/** Translates errors of the driver and the server. Messages contain no values. */
export function translateError(name: string, error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error;
  if (error instanceof RangeError) return documentTooLarge(name, error);
  if (error instanceof MongoNetworkTimeoutError)
    return new ServiceError('DEADLINE_EXCEEDED', 'the database did not respond in time', { cause: error });
  if (error instanceof MongoServerError) return translateServerError(name, error);
  if (error instanceof MongoNetworkError || DISCONNECTED.has(error.name) || WAIT_TIMEOUTS.has(error.name) || isSystemError(error))
    return new ServiceError('UNAVAILABLE', 'the database cannot be reached', { cause: error });
  return new ServiceError('INTERNAL', `${name}: the database operation failed`, { cause: error });
}

/** A socket that is closed during an operation fails with an error of Node. */
function isSystemError(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);
}

function translateServerError(name: string, error: MongoServerError): ServiceError {
  const code = Number(error.code);
  if (TIMED_OUT.has(code)) return new ServiceError('DEADLINE_EXCEEDED', 'the database did not finish in time', { cause: error });
  if (UNAVAILABLE.has(code)) return new ServiceError('UNAVAILABLE', 'the database is not available', { cause: error });
  if (NOT_AUTHENTICATED.has(code)) return new ServiceError('UNAVAILABLE', 'the database rejects the user', { cause: error });
  if (TOO_LARGE.has(code)) return documentTooLarge(name, error);
  if (code === NESTED_TOO_DEEPLY) return misuseError(name, 'the document is nested too deeply');
  if (code === INVALID_DOCUMENT) return misuseError(name, 'the document does not match the schema in the database');
  return new ServiceError('INTERNAL', `${name}: the database rejected the command (${String(error.codeName ?? error.code)})`, {
    cause: error,
  });
}

function documentTooLarge(name: string, cause: Error): ServiceError {
  const message = `${name}: the document with its events exceeds the limit of the database; split growing data into documents of its own`;
  return new ServiceError('OUT_OF_RANGE', message, { details: { reason: 'DOCUMENT_TOO_LARGE' }, cause });
}
