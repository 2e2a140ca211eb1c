import {
  ERROR_CODES,
  INLINE_BYTES,
  ServiceError,
  invalidParams,
  createServiceError,
  unserved,
  type Callable,
  type ErrorCode,
  type ErrorDetails,
} from '@switchyard/contracts';
import { withoutHidden } from '@switchyard/telemetry';
import { decodeText } from './encoding.ts';
import { FRAME, formatHeaders, type FrameKind, type HeaderLines } from './headers.ts';
import type { Message } from './transport.ts';

type NamedCallable = Pick<Callable, 'name' | 'service'>;

/** No service received the call. Not retryable for methods that no service implements yet. */
export function noRespondersError({ name, service }: NamedCallable): ServiceError {
  const details: ErrorDetails = { reason: 'NO_RESPONDERS', ...(isUnserved(name) ? { retryable: false } : {}) };
  return new ServiceError('UNAVAILABLE', `The ${service} service does not answer ${name}.`, { details });
}

function isUnserved(name: string): boolean {
  return (unserved as ReadonlySet<string>).has(name);
}

export function deadlineExceededError({ name, service }: NamedCallable): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', `The ${service} service did not answer ${name} in time.`);
}

export function cancelledError({ name }: NamedCallable): ServiceError {
  return new ServiceError('CANCELLED', `${name} was cancelled by its caller.`);
}

export function payloadTooLargeError(description: string, bytes: number, limit: number): ServiceError {
  return createError(
    'FAILED_PRECONDITION',
    `${description} is too large: ${bytes} bytes, at most ${limit} are allowed.`,
    'PAYLOAD_TOO_LARGE',
  );
}

/** The receiver cannot buffer the payload. Only `POST /rpc` streams results of any size. */
export function payloadTooLargeHereError(what: string, bytes: number, limit: number): ServiceError {
  const message = `${what} is too large for this request: ${bytes} bytes, at most ${limit}. Send the call alone by POST /rpc, which has no such limit.`;
  return createError('FAILED_PRECONDITION', message, 'PAYLOAD_TOO_LARGE');
}

/** The payload store does not have the payload, or cannot be reached. */
export function payloadLostError(what: string, cause: unknown): ServiceError {
  const message = `${what} was too large for a message and is missing in the payload store.`;
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'PAYLOAD_LOST' }, cause });
}

/** Same form as a validation error of the params. */
export function paramsTooLargeError(bytes: number): ServiceError {
  const [expected, received] = [`at most ${INLINE_BYTES} bytes`, `${bytes} bytes`];
  return invalidParams([{ path: 'params', expected, received, message: `params: expected ${expected}, got ${received}` }]);
}

export function chunkTooLargeError({ name }: NamedCallable, bytes: number, limit: number): ServiceError {
  return createError(
    'FAILED_PRECONDITION',
    `A chunk of the result of ${name} is too large: ${bytes} bytes, at most ${limit}.`,
    'PAYLOAD_TOO_LARGE',
  );
}

export function busClosedError(): ServiceError {
  return createError('UNAVAILABLE', 'The bus is closed.', 'BUS_CLOSED');
}

export function busUnreachableError(cause?: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', 'The bus cannot be reached.', { details: { reason: 'BUS_UNREACHABLE' }, cause });
}

export function credentialsRejectedError(servers: string, cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('UNAUTHENTICATED', `NATS at ${servers} rejected the credentials (${why}).`, {
    details: { reason: 'BUS_REFUSED' },
    cause,
  });
}

export const CERTIFICATE_REJECTED = 'BUS_CERTIFICATE';

/** The server requires a client certificate, and ours is missing or rejected. */
export function certificateRejectedError(servers: string, cause: Error): ServiceError {
  return new ServiceError('UNAUTHENTICATED', `NATS at ${servers} requires a client certificate that it trusts (${cause.message}).`, {
    details: { reason: CERTIFICATE_REJECTED },
    cause,
  });
}

export function invalidCredentialsError(cause: unknown): ServiceError {
  const message = 'Invalid NATS credentials file: expected a user JWT and the seed of its key.';
  return new ServiceError('UNAUTHENTICATED', message, { details: { reason: 'BUS_REFUSED' }, cause });
}

export function notProvisionedError(what: string, cause: unknown): ServiceError {
  const message = `The bus has no ${what} yet, and this service is not permitted to create it. Run deploy/nats/provision.ts.`;
  return new ServiceError('UNAVAILABLE', message, { details: { reason: 'NOT_PROVISIONED' }, cause });
}

export function tooFewServersError(what: string, copies: number, cause: unknown): ServiceError {
  const message = `The bus cannot keep ${copies} copies of the ${what}: too few servers are available or have space.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'TOO_FEW_SERVERS' }, cause });
}

export function callerShutdownError(by = 'calling'): ServiceError {
  return createError('UNAVAILABLE', `The ${by} service is shutting down and could not wait for the reply.`, 'SHUTTING_DOWN');
}

export function serverShutdownError({ name, service }: NamedCallable): ServiceError {
  return createError('UNAVAILABLE', `The ${service} service is shutting down and could not finish ${name}.`, 'SHUTTING_DOWN');
}

export function streamGapError({ name }: NamedCallable): ServiceError {
  return createError('DATA_LOSS', `A chunk of the result of ${name} was lost.`, 'STREAM_GAP');
}

export function streamSilentError({ name, service }: NamedCallable): ServiceError {
  return createError('UNAVAILABLE', `The ${service} service stopped sending frames of ${name}.`, 'STREAM_SILENT');
}

export function callSilentError({ name, service }: NamedCallable): ServiceError {
  return createError('UNAVAILABLE', `The ${service} service stopped sending heartbeats for ${name}.`, 'CALL_SILENT');
}

export function slowReaderError({ name }: NamedCallable, limit: number): ServiceError {
  return createError('RESOURCE_EXHAUSTED', `The reader of ${name} is more than ${limit} frames behind.`, 'SLOW_READER');
}

export function internalError(cause?: unknown): ServiceError {
  return new ServiceError('INTERNAL', 'Internal error', { cause });
}

/** Decodes an error of another process. Malformed bodies become INTERNAL. */
export function decodeError(data: Uint8Array): ServiceError {
  let body: { code?: unknown; message?: unknown; details?: unknown };
  try {
    body = JSON.parse(decodeText(data)) as typeof body;
  } catch (error) {
    return internalError(error);
  }
  const { code, message, details } = body;
  if (!isErrorCode(code) || typeof message !== 'string') return internalError();
  // The reading site adds no stack trace.
  return createServiceError(code, message, { details: isRecord(details) ? details : {} });
}

/** Encodes an error. Details that are not serializable are omitted, so that the error always arrives. */
export function encodeError({ code, message, details }: ServiceError): Uint8Array {
  try {
    return Buffer.from(JSON.stringify({ code, message, details }, redactValue));
  } catch {
    return Buffer.from(JSON.stringify({ code, message }, redactValue));
  }
}

const ERROR: FrameKind = 'error';
const ALIVE: FrameKind = 'alive';

/** Formats the error headers. The last two belong to the NATS services protocol and are shown by its tools. */
export function errorHeaders({ code, message }: ServiceError): HeaderLines {
  return formatHeaders([FRAME, ERROR], ['Nats-Service-Error-Code', code], ['Nats-Service-Error', toHeaderText(redactSecrets(message))]);
}

export function isErrorFrame(message: Message): boolean {
  return message.header(FRAME) === ERROR;
}

/** Whether the message is a heartbeat of a running call. */
export function isHeartbeat(message: Message): boolean {
  return message.header(FRAME) === ALIVE;
}

export const HEARTBEAT_HEADERS: HeaderLines = formatHeaders([FRAME, ALIVE]);

function createError(code: ErrorCode, message: string, reason: string): ServiceError {
  return new ServiceError(code, message, { details: { reason } });
}

function isErrorCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}

function isRecord(value: unknown): value is ErrorDetails {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function redactValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' ? redactSecrets(value) : value;
}

/** Masks the secrets that this process has read. */
function redactSecrets(text: string): string {
  return withoutHidden(text, '[REDACTED]');
}

function toHeaderText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
}
