import { isUtf8 } from 'node:buffer';
import type { Fault } from './answers.ts';

/** Deeper nesting than this is refused: nobody means it, and what walks it later may recurse. */
export const MAX_DEPTH = 64;

/** A request as it came: what routing needs is parsed, the rest stays bytes. */
export interface Request {
  fault: undefined;
  method: string;
  /** The bytes of the id, a character for each (Latin-1), to be echoed untouched; undefined makes it a notification. */
  id: string | undefined;
  /** The params' own bytes, `{}` when there were none; when they are not an object, the word for what came instead. */
  params: Uint8Array | string;
}

/** What is answered with an error and not run. */
export interface Refused {
  fault: Fault;
  id: string;
}

export type Item = Request | Refused;
/** One request, or the members of a batch in their order. */
export type Envelope = Item | Item[];

export const PARSE_ERROR: Fault = { number: -32700, code: 'INVALID_ARGUMENT', message: 'Parse error' };
export const INVALID_REQUEST: Fault = { number: -32600, code: 'INVALID_ARGUMENT', message: 'Invalid Request' };
const TOO_DEEP: Fault = { ...INVALID_REQUEST, message: `Invalid Request: nested deeper than ${MAX_DEPTH} levels` };

export const NULL_ID = 'null';
/** Stands for params that were left out; known by identity. */
export const NO_PARAMS: Uint8Array = Buffer.from('{}');

/** Reads a message once for validity and once for the bytes of ids and params. Never throws and never recurses. */
export function readEnvelope(bytes: Buffer, maxBatchSize: number): Envelope {
  // Invalid UTF-8 would parse as U+FFFD while the raw bytes travelled on.
  if (!isUtf8(bytes)) return refused(PARSE_ERROR);
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8'));
  } catch {
    return refused(PARSE_ERROR);
  }
  const at = skipSpace(bytes, 0);
  if (!Array.isArray(parsed)) return readItem(bytes, at, parsed, newSpans());
  if (parsed.length === 0) return refused(INVALID_REQUEST);
  if (parsed.length > maxBatchSize) {
    return refused({ ...INVALID_REQUEST, message: `Batch too large: ${parsed.length} requests, maximum ${maxBatchSize}` });
  }
  return readBatch(bytes, at + 1, parsed);
}

function readBatch(bytes: Buffer, start: number, members: readonly unknown[]): Item[] {
  const spans = newSpans();
  let at = start;
  return members.map((member) => {
    at = skipSpace(bytes, at);
    const item = readItem(bytes, at, member, spans);
    at = skipSpace(bytes, spans.end) + 1; // the comma, or the closing bracket
    return item;
  });
}

function readItem(bytes: Buffer, at: number, parsed: unknown, spans: Spans): Item {
  if (!isObject(parsed)) {
    spans.end = skipValue(bytes, at, spans);
    return refused(INVALID_REQUEST);
  }
  findMembers(bytes, at, spans);
  const { jsonrpc, method, id, params } = parsed;
  const idText = id === undefined ? undefined : bytes.toString('latin1', spans.idStart, spans.idEnd);
  const readable = id === undefined || typeof id === 'number' || typeof id === 'string' || id === null;
  if (!readable) return refused(INVALID_REQUEST);
  if (jsonrpc !== '2.0' || typeof method !== 'string') return refused(INVALID_REQUEST, idText);
  if (spans.depth > MAX_DEPTH) return refused(TOO_DEEP, idText);
  return { fault: undefined, method, id: idText, params: paramsOf(bytes, params, spans) };
}

function paramsOf(bytes: Buffer, params: unknown, spans: Spans): Uint8Array | string {
  if (params === undefined) return NO_PARAMS;
  if (isObject(params)) return bytes.subarray(spans.paramsStart, spans.paramsEnd);
  return Array.isArray(params) ? 'array' : params === null ? 'null' : typeof params;
}

function refused(fault: Fault, id: string = NULL_ID): Refused {
  return { fault, id };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where the members of one request stand in the bytes; one record serves a whole batch. */
interface Spans {
  idStart: number;
  idEnd: number;
  paramsStart: number;
  paramsEnd: number;
  /** The deepest nesting seen, the request itself being 1. */
  depth: number;
  /** Just behind the last byte of the item. */
  end: number;
}

function newSpans(): Spans {
  return { idStart: 0, idEnd: 0, paramsStart: 0, paramsEnd: 0, depth: 0, end: 0 };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** `at` is the opening brace of an object that is known to be valid JSON. Of a repeated name the last one counts, as in JSON.parse. */
function findMembers(bytes: Buffer, at: number, spans: Spans): void {
  spans.depth = 1;
  let i = skipSpace(bytes, at + 1);
  while (bytes[i] === QUOTE) {
    const keyEnd = skipString(bytes, i);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, start, spans);
    const key = memberName(bytes, i, keyEnd);
    if (key === 'id') {
      spans.idStart = start;
      spans.idEnd = end;
    } else if (key === 'params') {
      spans.paramsStart = start;
      spans.paramsEnd = end;
    }
    i = skipSpace(bytes, end);
    if (bytes[i] === COMMA) i = skipSpace(bytes, i + 1);
  }
  spans.end = i + 1;
}

function memberName(bytes: Buffer, start: number, end: number): 'id' | 'params' | undefined {
  const length = end - start - 2;
  if (length === 2 && bytes[start + 1] === 0x69 && bytes[start + 2] === 0x64) return 'id';
  if (length === 6 && bytes[start + 1] === 0x70 && bytes.toString('latin1', start + 1, end - 1) === 'params') return 'params';
  for (let i = start + 1; i < end - 1; i++) {
    if (bytes[i] === BACKSLASH) return escapedName(bytes.toString('utf8', start, end));
  }
  return undefined;
}

function escapedName(text: string): 'id' | 'params' | undefined {
  const name: unknown = JSON.parse(text);
  return name === 'id' || name === 'params' ? name : undefined;
}

function skipSpace(bytes: Buffer, at: number): number {
  let i = at;
  while (i < bytes.length && (bytes[i] ?? 0) <= SPACE) i++;
  return i;
}

function skipString(bytes: Buffer, at: number): number {
  for (let i = at + 1; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === BACKSLASH) i++;
    else if (byte === QUOTE) return i + 1;
  }
  return bytes.length;
}

/** Returns the index behind the value and notes how deep it went. */
function skipValue(bytes: Buffer, at: number, spans: Spans): number {
  const first = bytes[at];
  if (first === QUOTE) return skipString(bytes, at);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipContainer(bytes, at, spans);
  let i = at;
  while (i < bytes.length && !endsScalar(bytes[i])) i++;
  return i;
}

function endsScalar(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === undefined || byte <= SPACE;
}

function skipContainer(bytes: Buffer, at: number, spans: Spans): number {
  let depth = 1;
  let deepest = spans.depth;
  let i = at;
  while (i < bytes.length) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = skipString(bytes, i);
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (--depth === 1) break;
    }
    i++;
  }
  spans.depth = deepest;
  return i + 1;
}
