import { REDACTED, scrub, scrubKnown } from './text-redaction.ts';

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
/** Approximate maximum of characters in one line; further values are omitted. Shared values count each time they occur. */
const MAX_LINE = 65_536;
const MAX_REMEMBERED = 2_000;
/** Maximum length of a field name. */
const MAX_KEY = 128;
const CUT = '…';

/** Endings of secret keys, compared without case, `_` and `-`: `botToken`, `x-api-key`, `OPENAI_API_KEY`. */
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

/** Fields of an error that are written besides type, message, stack and cause. Errors of clients may also contain whole requests and responses. */
const ERROR_FIELDS = ['code', 'reason', 'details', 'issues', 'status', 'statusCode', 'errno', 'syscall', 'address', 'port', 'hint'];

type Fields = Record<string, unknown>;

/** Returns a safe copy: plain JSON of bounded size, at most four levels deep, without the values of secret keys. Never throws. */
export function redact(fields: object): Fields {
  return copyLine(fields, { left: MAX_LINE, scrub, isSecret });
}

/** Like `redact`, but redacts only masked values. */
export function redactKnown(fields: object): Fields {
  return copyLine(fields, { left: MAX_LINE, scrub: scrubKnown, isSecret: () => false });
}

function copyLine(fields: object, room: Place['room']): Fields {
  const copy = fields instanceof Error ? { err: fields } : fields;
  return copyFields(copy, Object.keys(copy), { depth: 1, above: [copy], room });
}

interface Place {
  /** Depth of the copied fields; 1 for the fields of the line. */
  depth: number;
  above: readonly object[];
  /** Remaining characters of the line, and the redaction rules. */
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

/** Scrubs a text and subtracts its length from the limit. */
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
  return copyFields(value, getKeys(value), inside);
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

function getKeys(value: object): string[] {
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

const cachedKeys = new Map<string, boolean>();

export function isSecret(key: string): boolean {
  const end = key.slice(-MAX_KEY);
  let secret = cachedKeys.get(end);
  if (secret === undefined) {
    const name = end.replace(/[_-]/g, '').toLowerCase();
    secret = name === 'key' || SECRET_ENDINGS.some((ending) => name.endsWith(ending));
    if (cachedKeys.size < MAX_REMEMBERED) cachedKeys.set(end, secret);
  }
  return secret;
}
