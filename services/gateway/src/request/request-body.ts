import type { IncomingMessage } from 'node:http';
import { type Caller, addIncompleteBytes } from './caller.ts';
import { discardBody, MAX_DISCARDED_BYTES, hasTooManyParts } from './discarded-body.ts';
import { INCOMPLETE_BODY, TOO_MANY_BODY_PARTS, BODY_TOO_LARGE, NOT_JSON, RefusalError, TOO_MANY_INCOMPLETE_BYTES } from './refusal.ts';

const MIN_BUFFER_BYTES = 4_096;

type OnBody = (error: Error | null, body?: Buffer) => void;

/** The size limit of a body, and the client whose incomplete bytes it counts against. */
export interface BodyLimit {
  limit: number;
  caller: Pick<Caller, 'incompleteBytes'>;
}

const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Reads a body completely. Fails with a RefusalError when the body exceeds `limit` bytes or arrives in too many small chunks. Call it
 * as soon as the request arrives: a short body is buffered together with its headers by then, and needs no stream events.
 */
export function readBody(payload: IncomingMessage, bodyLimit: BodyLimit, done: OnBody): void {
  process.nextTick(readBufferedBody, payload, bodyLimit, done);
}

function readBufferedBody(payload: IncomingMessage, bodyLimit: BodyLimit, done: OnBody): void {
  const length = Number(payload.headers['content-length']);
  if (payload.readableLength !== length) return readParts(payload, bodyLimit, done);
  const body = (payload.read() as Buffer | null) ?? EMPTY;
  if (length > bodyLimit.limit) done(new RefusalError(BODY_TOO_LARGE));
  else done(null, body);
}

/** Copies parts into one buffer as they arrive, because a one-byte chunk kept as an object takes hundreds of bytes. */
function readParts(payload: IncomingMessage, { limit, caller }: BodyLimit, done: OnBody): void {
  if (Number(payload.headers['content-length']) > limit + MAX_DISCARDED_BYTES) return done(new RefusalError(BODY_TOO_LARGE));
  let buffer: Buffer = EMPTY;
  let size = 0;
  let parts = 0;
  /** Replaces the buffer; false when the incomplete bytes of the client exceed their limit. */
  const reserve = (bytes: Buffer): boolean => {
    const change = bytes.length - buffer.length;
    buffer = bytes;
    return addIncompleteBytes(caller, change, limit);
  };
  const onData = (chunk: Buffer): void => {
    const offset = size;
    size += chunk.length;
    if (hasTooManyParts(++parts, size)) return finish(new RefusalError(TOO_MANY_BODY_PARTS));
    if (!reserve(size > limit ? EMPTY : append(buffer, offset, chunk))) return finish(new RefusalError(TOO_MANY_INCOMPLETE_BYTES));
    if (size > limit + MAX_DISCARDED_BYTES) finish(new RefusalError(BODY_TOO_LARGE));
  };
  const onEnd = (): void => {
    if (size > limit) finish(new RefusalError(BODY_TOO_LARGE));
    else finish(null, buffer.subarray(0, size));
  };
  let finished = false;
  const finish = (error: Error | null, body?: Buffer): void => {
    if (finished) return;
    finished = true;
    payload.off('data', onData);
    reserve(EMPTY);
    done(error, body);
    if (error) discardBody(payload);
  };
  const onError = (error: Error): void => finish(new RefusalError(INCOMPLETE_BODY, error)); // the client disconnected
  payload.on('data', onData).on('end', onEnd).on('error', onError);
}

/** Appends a part after the first `at` bytes of `held`, which doubles in size when it is full. A large first part is not copied. */
function append(buffer: Buffer, offset: number, part: Buffer): Buffer {
  if (offset === 0 && part.length >= MIN_BUFFER_BYTES) return part;
  const size = offset + part.length;
  let grown = buffer;
  if (size > buffer.length) {
    grown = Buffer.allocUnsafeSlow(Math.max(MIN_BUFFER_BYTES, size, 2 * buffer.length));
    buffer.copy(grown, 0, 0, offset);
  }
  part.copy(grown, offset);
  return grown;
}

const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i;
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-?8"?\s*(?:;|$))/i;

export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  return contentType !== undefined && JSON_TYPE.test(contentType) && !OTHER_CHARSET.test(contentType);
}

/** Returns the parsed JSON body of a route. Throws a refusal for another content type and for invalid JSON. */
export function parseJsonBody(request: { headers: { 'content-type'?: string | undefined }; body: unknown }): unknown {
  if (!isJson(request.headers['content-type'])) throw new RefusalError(NOT_JSON);
  return parseBody(Buffer.isBuffer(request.body) ? request.body : EMPTY);
}

/** Parses JSON. Throws a refusal for invalid JSON. */
export function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new RefusalError({ status: 400, message: 'Invalid JSON body', code: 'INVALID_ARGUMENT' }, cause);
  }
}
