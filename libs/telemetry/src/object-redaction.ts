import { REDACTED, scrub, scrubKnown } from './text-redaction.ts';

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
/** Characters of one line, about: what comes after them is left out. Values that are shared are written as often as they are met. */
const MAX_LINE = 65_536;
const MAX_REMEMBERED = 2_000;
/** Longer names are nobody's idea of a field. */
const MAX_KEY = 128;
const CUT = '…';

/** Matched without case, `_` and `-`, also as the end of a longer name: `botToken`, `x-api-key`, `OPENAI_API_KEY`. */
const SECRET_ENDINGS = [
  'apikey',
  'token',
  'password',
  'passphrase',
  'secret',
  'authorization',
  'privatekey',
  'masterkey',
  'accesskey',
  'credential',
  'credentials',
  'connectionstring',
  'cookie',
];

/** What an error may say besides type, message, stack and cause. Clients' errors also carry whole requests and answers. */
const ERROR_FIELDS = ['code', 'reason', 'details', 'issues', 'status', 'statusCode', 'errno', 'syscall', 'address', 'port', 'hint'];

type Fields = Record<string, unknown>;

/** A copy that is safe to write: plain JSON of bounded size, at most four levels deep, without the values of secret keys. Never throws. */
export function redact(fields: object): Fields {
  return copyLine(fields, { left: MAX_LINE, scrub, isSecret });
}

/** As `redact`, but of what is secret only the values that are known to be. */
export function redactKnown(fields: object): Fields {
  return copyLine(fields, { left: MAX_LINE, scrub: scrubKnown, isSecret: () => false });
}

function copyLine(fields: object, room: Place['room']): Fields {
  const copy = fields instanceof Error ? { err: fields } : fields;
  return copyFields(copy, Object.keys(copy), { depth: 1, above: [copy], room });
}

interface Place {
  /** Of the fields being copied; those of the line itself are 1. */
  depth: number;
  above: readonly object[];
  /** How many characters the line may still have, and what may stand in it. */
  room: { left: number; scrub: (text: string) => string; isSecret: (key: string) => boolean };
}

function copyFields(from: object, keys: readonly string[], place: Place): Fields {
  const copy: Fields = {};
  for (const key of keys.length > MAX_ITEMS ? keys.slice(0, MAX_ITEMS) : keys) {
    const value = read(from, key);
    const name = key.length > MAX_KEY ? key.slice(0, MAX_KEY) + CUT : key;
    place.room.left -= name.length;
    if (value !== undefined) copy[name] = value !== null && place.room.isSecret(key) ? REDACTED : copyValue(value, place);
  }
  if (keys.length > MAX_ITEMS) copy[CUT] = `${keys.length - MAX_ITEMS} more`;
  return copy;
}

function copyValue(value: unknown, place: Place): unknown {
  const { room } = place;
  if (room.left <= 0) return CUT;
  room.left--;
  switch (typeof value) {
    case 'string':
      return copyText(value, place);
    case 'object':
      return value === null ? null : copyObject(value, place);
    case 'bigint':
      return String(value);
    case 'function':
    case 'symbol':
      return `[${typeof value}]`;
    default:
      return value;
  }
}

/** Text costs what it is long. */
function copyText(text: string, { room }: Place): string {
  const scrubbed = room.scrub(text);
  room.left -= scrubbed.length;
  return scrubbed;
}

function copyObject(value: object, { depth, above, room }: Place): unknown {
  if (above.includes(value)) return '[Circular]';
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return `[${value.constructor.name} of ${value.size}]`;
  const inside = { depth: depth + 1, above: [...above, value], room };
  if (value instanceof Error) return depth >= MAX_DEPTH ? scrub(`${value.name}: ${value.message}`) : copyError(value, inside);
  const plain = 'toJSON' in value ? asJson(value) : value;
  if (plain !== value) return copyValue(plain, { ...inside, depth });
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[Array]' : '[Object]';
  if (Array.isArray(value)) return copyItems(value, inside);
  return copyFields(value, keysOf(value), inside);
}

function copyItems(items: readonly unknown[], place: Place): unknown[] {
  const copy = items.slice(0, MAX_ITEMS).map((item) => (item === undefined ? null : copyValue(item, place)));
  if (items.length > MAX_ITEMS) copy.push(`${CUT} ${items.length - MAX_ITEMS} more`);
  return copy;
}

function copyError(error: Error, place: Place): Fields {
  const copy: Fields = { type: error.name, message: copyText(error.message, place) };
  if (error.stack !== undefined) copy['stack'] = copyText(error.stack, place);
  Object.assign(copy, copyFields(error, ERROR_FIELDS, place));
  if (error.cause !== undefined) copy['cause'] = copyValue(error.cause, place);
  if (error instanceof AggregateError) copy['errors'] = copyItems(error.errors, place);
  return copy;
}

function read(from: object, key: string): unknown {
  try {
    return (from as Fields)[key];
  } catch {
    return '[unreadable]';
  }
}

function keysOf(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return [];
  }
}

function asJson(value: object): unknown {
  try {
    const { toJSON } = value as { toJSON: unknown };
    return typeof toJSON === 'function' ? (toJSON.call(value, '') as unknown) : value;
  } catch {
    return '[unreadable]';
  }
}

const remembered = new Map<string, boolean>();

function isSecret(key: string): boolean {
  const end = key.slice(-MAX_KEY);
  let secret = remembered.get(end);
  if (secret === undefined) {
    const name = end.replace(/[_-]/g, '').toLowerCase();
    secret = name === 'key' || SECRET_ENDINGS.some((ending) => name.endsWith(ending));
    if (remembered.size < MAX_REMEMBERED) remembered.set(end, secret);
  }
  return secret;
}
