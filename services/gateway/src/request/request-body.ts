import type { IncomingMessage } from 'node:http';
import { type Caller, changeUnfinished } from './caller.ts';
import { discardBody, LINGER_BYTES, tooManyParts } from './discarded-body.ts';
import { BODY_BROKEN, BODY_IN_CRUMBS, BODY_TOO_LARGE, NOT_JSON, RefusalError, TOO_MUCH_UNFINISHED } from './refusal.ts';

const FIRST_BYTES = 4_096;

type OnBody = (error: Error | null, body?: Buffer) => void;

/** How much a body may be, and whose budget an unfinished one counts against. */
export interface BodyLimit {
  limit: number;
  caller: Pick<Caller, 'unfinished'>;
}

const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Reads a body whole and as it came. Fails with a RefusalError when it is larger than `limit` bytes, or comes in chunks of a few
 * bytes. To be called when the request is new: a short body comes with its headers, and is there once Node has parsed what it
 * read, so nothing has to flow or to end.
 */
export function readBody(payload: IncomingMessage, allowed: BodyLimit, done: OnBody): void {
  process.nextTick(readWhole, payload, allowed, done);
}

function readWhole(payload: IncomingMessage, allowed: BodyLimit, done: OnBody): void {
  const length = Number(payload.headers['content-length']);
  if (payload.readableLength !== length) return readParts(payload, allowed, done);
  const body = (payload.read() as Buffer | null) ?? EMPTY;
  if (length > allowed.limit) done(new RefusalError(BODY_TOO_LARGE));
  else done(null, body);
}

/** Parts are copied into one buffer as they come: a part of one byte that is kept as an object needs hundreds of bytes. */
function readParts(payload: IncomingMessage, { limit, caller }: BodyLimit, done: OnBody): void {
  if (Number(payload.headers['content-length']) > limit + LINGER_BYTES) return done(new RefusalError(BODY_TOO_LARGE));
  let held: Buffer = EMPTY;
  let size = 0;
  let parts = 0;
  /** Whether the client's budget allows us to hold that much instead of what is held now. */
  const hold = (bytes: Buffer): boolean => {
    const more = bytes.length - held.length;
    held = bytes;
    return changeUnfinished(caller, more, limit);
  };
  const onData = (chunk: Buffer): void => {
    const at = size;
    size += chunk.length;
    if (tooManyParts(++parts, size)) return finish(new RefusalError(BODY_IN_CRUMBS));
    if (!hold(size > limit ? EMPTY : append(held, at, chunk))) return finish(new RefusalError(TOO_MUCH_UNFINISHED));
    if (size > limit + LINGER_BYTES) finish(new RefusalError(BODY_TOO_LARGE));
  };
  const onEnd = (): void => {
    if (size > limit) finish(new RefusalError(BODY_TOO_LARGE));
    else finish(null, held.subarray(0, size));
  };
  let finished = false;
  const finish = (error: Error | null, body?: Buffer): void => {
    if (finished) return;
    finished = true;
    payload.off('data', onData);
    hold(EMPTY);
    done(error, body);
    if (error) discardBody(payload);
  };
  const onError = (error: Error): void => finish(new RefusalError(BODY_BROKEN, error)); // the client left half-way, which is no failure of ours
  payload.on('data', onData).on('end', onEnd).on('error', onError);
}

/** Puts the part behind the first `at` bytes of `held`, which grows to twice its size when it is full. A large first part is not copied. */
function append(held: Buffer, at: number, part: Buffer): Buffer {
  if (at === 0 && part.length >= FIRST_BYTES) return part;
  const size = at + part.length;
  let roomy = held;
  if (size > held.length) {
    roomy = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, size, 2 * held.length));
    held.copy(roomy, 0, 0, at);
  }
  part.copy(roomy, at);
  return roomy;
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
  return parseBody(Buffer.isBuffer(request.body) ? request.body : EMPTY);
}

/** Throws the refusal of what is no JSON. */
export function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new RefusalError({ status: 400, message: 'Invalid JSON body', code: 'INVALID_ARGUMENT' }, cause);
  }
}
