import type { IncomingMessage } from 'node:http';
import { BODY_BROKEN, BODY_TOO_LARGE, NOT_JSON, RefusalError } from './refusal.ts';

/** How much of a body that is too large is still read, so that the client hears the refusal instead of a broken connection. */
const LINGER_BYTES = 16 * 1024 * 1024;

type OnBody = (error: Error | null, body?: Buffer) => void;

const EMPTY = Buffer.alloc(0);

/**
 * Reads a body whole and as it came. Fails with a RefusalError when it is larger than `limit` bytes. To be called when the request
 * is new: a short body comes with its headers, and is there once Node has parsed what it read, so nothing has to flow or to end.
 */
export function readBody(payload: IncomingMessage, limit: number, done: OnBody): void {
  process.nextTick(readWhole, payload, limit, done);
}

function readWhole(payload: IncomingMessage, limit: number, done: OnBody): void {
  const length = Number(payload.headers['content-length']);
  if (payload.readableLength !== length) return readParts(payload, limit, done);
  const body = (payload.read() as Buffer | null) ?? EMPTY;
  if (length > limit) done(new RefusalError(BODY_TOO_LARGE));
  else done(null, body);
}

function readParts(payload: IncomingMessage, limit: number, done: OnBody): void {
  if (Number(payload.headers['content-length']) > limit + LINGER_BYTES) return done(new RefusalError(BODY_TOO_LARGE));
  let chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else chunks = [];
    if (size > limit + LINGER_BYTES) finish(new RefusalError(BODY_TOO_LARGE));
  };
  const onEnd = (): void => {
    if (size > limit) return finish(new RefusalError(BODY_TOO_LARGE));
    finish(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size));
  };
  let finished = false;
  const finish = (error: Error | null, body?: Buffer): void => {
    if (finished) return;
    finished = true;
    chunks = [];
    done(error, body);
  };
  const onError = (error: Error): void => finish(new RefusalError(BODY_BROKEN, error)); // the client left half-way, which is no failure of ours
  payload.on('data', onData).on('end', onEnd).on('error', onError);
}

const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i;
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-?8"?\s*(?:;|$))/i;

export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  return contentType !== undefined && JSON_TYPE.test(contentType) && !OTHER_CHARSET.test(contentType);
}

/** The parsed body of a route that takes JSON; throws the refusal for anything else. */
export function jsonBody(request: { headers: { 'content-type'?: string | undefined }; body: unknown }): unknown {
  if (!isJson(request.headers['content-type'])) throw new RefusalError(NOT_JSON);
  const text = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RefusalError({ status: 400, message: 'Invalid JSON body', code: 'INVALID_ARGUMENT' }, cause);
  }
}
