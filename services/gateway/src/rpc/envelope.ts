import { isUtf8 } from 'node:buffer';
import type { Fault } from './json-rpc-responses.ts';
import {
  BACKSLASH,
  BROKEN,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  findMemberValue,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  findStringEnd,
  findValueEnd,
  type Scan,
} from './json-scanner.ts';

/** Maximum nesting, because later consumers of the params may recurse. */
export const MAX_DEPTH = 64;

/** A request. Only the members needed for routing are parsed. */
export interface RpcRequest {
  fault: undefined;
  method: string;
  /** The bytes of the id as a Latin-1 string, to be echoed unchanged; undefined for a notification. */
  id: string | undefined;
  /** The bytes of the params, `{}` without params; the name of the JSON type when they are not an object. */
  params: Uint8Array | string;
}

/** An invalid message and its error. */
export interface InvalidItem {
  fault: Fault;
  id: string;
}

export type Item = RpcRequest | InvalidItem;
/** One request, or the members of a batch in order. */
export type Envelope = Item | Item[];

export const PARSE_ERROR: Fault = { number: -32700, code: 'INVALID_ARGUMENT', message: 'Parse error' };
export const INVALID_REQUEST: Fault = { number: -32600, code: 'INVALID_ARGUMENT', message: 'Invalid Request' };
const TOO_DEEP: Fault = { ...INVALID_REQUEST, message: `Invalid Request: nested deeper than ${MAX_DEPTH} levels` };

export const NULL_ID = 'null';
/** Missing or empty params; compared by identity. */
export const NO_PARAMS: Uint8Array = Buffer.from('{}');

/** Parses the envelope of a message in one pass. Params and ids stay unparsed. Never throws and never recurses. */
export function readEnvelope(bytes: Buffer, maxBatchSize: number): Envelope {
  const reader = new Reader(bytes);
  const start = skipSpace(bytes, 0);
  const envelope = bytes[start] === OPEN_BRACKET ? reader.batch(start, maxBatchSize) : reader.item(start);
  const isComplete = reader.at !== BROKEN && skipSpace(bytes, reader.at) === bytes.length;
  // Invalid UTF-8 would parse as U+FFFD here, while the raw bytes are forwarded.
  return isComplete && (reader.ascii || isUtf8(bytes)) ? envelope : createInvalidItem(PARSE_ERROR);
}

/** The position of a value. */
interface Span {
  start: number;
  end: number;
}

/** A missing member. */
const ABSENT: Span = { start: 0, end: 0 };

/** The members of a request. */
type Name = 'jsonrpc' | 'method' | 'params' | 'id';

const NAMES: readonly (readonly [Name, Buffer])[] = (['jsonrpc', 'method', 'params', 'id'] as const).map((name) => [
  name,
  Buffer.from(name),
]);
const VERSION = Buffer.from('"2.0"');
const EMPTY_OBJECT = Buffer.from('{}');

/** Scans a message once. Its results are valid only if `at` is not BROKEN in the end. */
class Reader implements Scan {
  readonly #bytes: Buffer;
  /** The index after the scanned text, or BROKEN for invalid JSON. */
  at = 0;
  deepest = 0;
  ascii = true;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  batch(start: number, maxBatchSize: number): Envelope {
    const bytes = this.#bytes;
    const items: Item[] = [];
    let count = 0;
    this.at = skipSpace(bytes, start + 1);
    if (bytes[this.at] === CLOSE_BRACKET) {
      this.at++;
      return createInvalidItem(INVALID_REQUEST);
    }
    for (;;) {
      const item = this.item(this.at);
      if (this.at === BROKEN) return item;
      if (++count <= maxBatchSize) items.push(item);
      const next = skipSpace(bytes, this.at);
      this.at = next + 1;
      if (bytes[next] === CLOSE_BRACKET) break;
      this.at = bytes[next] === COMMA ? skipSpace(bytes, next + 1) : BROKEN;
    }
    if (count <= maxBatchSize) return items;
    return createInvalidItem({ ...INVALID_REQUEST, message: `Batch too large: ${count} requests, maximum ${maxBatchSize}` });
  }

  item(start: number): Item {
    const bytes = this.#bytes;
    if (bytes[start] !== OPEN_BRACE) {
      this.at = findValueEnd(bytes, start, 1, this);
      return createInvalidItem(INVALID_REQUEST);
    }
    const members: Record<Name, Span> = { jsonrpc: ABSENT, method: ABSENT, params: ABSENT, id: ABSENT };
    this.deepest = 1;
    this.at = this.#read(start, members);
    if (this.at === BROKEN) return createInvalidItem(PARSE_ERROR);
    const id = members.id === ABSENT ? undefined : bytes.toString('latin1', members.id.start, members.id.end);
    if (id !== undefined && !isId(bytes[members.id.start])) return createInvalidItem(INVALID_REQUEST);
    const method = readString(bytes, members.method);
    if (!isVersion(bytes, members.jsonrpc) || method === undefined) return createInvalidItem(INVALID_REQUEST, id);
    if (this.deepest > MAX_DEPTH) return createInvalidItem(TOO_DEEP, id);
    return { fault: undefined, method, id, params: readParams(bytes, members.params) };
  }

  /** Returns the index after the object. The last of repeated members is used, as in JSON.parse. */
  #read(start: number, members: Record<Name, Span>): number {
    const bytes = this.#bytes;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    for (;;) {
      const nameEnd = findStringEnd(bytes, at, this);
      const value = findMemberValue(bytes, nameEnd);
      const end = findValueEnd(bytes, value, 2, this);
      if (end === BROKEN) return BROKEN;
      const name = readName(bytes, at, nameEnd);
      if (name !== undefined) members[name] = { start: value, end };
      const next = skipSpace(bytes, end);
      if (bytes[next] === CLOSE_BRACE) return next + 1;
      if (bytes[next] !== COMMA) return BROKEN;
      at = skipSpace(bytes, next + 1);
    }
  }
}

function readName(bytes: Buffer, start: number, end: number): Name | undefined {
  for (const [name, text] of NAMES) if (equalsAt(bytes, start + 1, end - 1, text)) return name;
  if (!hasEscape(bytes, start, end)) return undefined;
  const unescaped = unescape(bytes, start, end);
  return NAMES.find(([name]) => name === unescaped)?.[0];
}

function isVersion(bytes: Buffer, span: Span): boolean {
  return equalsAt(bytes, span.start, span.end, VERSION) || readString(bytes, span) === '2.0';
}

/** Returns a string value; undefined for another type. */
function readString(bytes: Buffer, span: Span): string | undefined {
  const { start, end } = span;
  if (span === ABSENT || bytes[start] !== QUOTE) return undefined;
  return hasEscape(bytes, start, end) ? unescape(bytes, start, end) : bytes.toString('utf8', start + 1, end - 1);
}

function readParams(bytes: Buffer, span: Span): Uint8Array | string {
  const { start, end } = span;
  if (span === ABSENT || equalsAt(bytes, start, end, EMPTY_OBJECT)) return NO_PARAMS;
  return bytes[start] === OPEN_BRACE ? bytes.subarray(start, end) : describeType(bytes[start]);
}

function createInvalidItem(fault: Fault, id: string = NULL_ID): InvalidItem {
  return { fault, id };
}

/** Whether the first byte starts a string, a number or null. */
function isId(first = 0): boolean {
  return first === QUOTE || first === LETTER_N || isNumber(first);
}

function isNumber(first: number): boolean {
  return first === MINUS || (first >= 0x30 && first <= 0x39);
}

/** The JSON type of a valid value other than an object, by its first byte. */
function describeType(first = 0): string {
  if (first === OPEN_BRACKET) return 'array';
  if (first === QUOTE) return 'string';
  if (first === LETTER_N) return 'null';
  return isNumber(first) ? 'number' : 'boolean';
}

const LETTER_N = 0x6e;

function equalsAt(bytes: Buffer, start: number, end: number, text: Buffer): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false;
  return true;
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] === BACKSLASH) return true;
  return false;
}

function unescape(bytes: Buffer, start: number, end: number): string {
  return JSON.parse(bytes.toString('utf8', start, end)) as string;
}
