import { readFileSync } from 'node:fs';
import { wrongUsage } from '../output/failure.ts';
import { isObject, parseJson } from '../output/json-values.ts';
import { quote, self } from '../server/installation.ts';

type Params = Record<string, unknown>;

/**
 * Reads the params of a call from `--params` and `key=value` words. A value is JSON if it parses as JSON, else a string; dots in a key
 * create nested objects. Rejects a key that is set twice.
 */
export function readParams(json: string | undefined, words: readonly string[]): Params {
  const params = json === undefined ? emptyObject() : readObject(json === '-' ? readFileSync(0, 'utf8') : json);
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw wrongUsage(`${word} is not of the form key=value.`, `${self()} rpc --help`);
    const text = word.slice(at + 1);
    place(params, word.slice(0, at), parseJson(text) ?? (text === 'null' ? null : text));
  }
  return params;
}

function readObject(json: string): Params {
  const value = parseJson(json);
  if (isObject(value)) return value;
  throw wrongUsage('--params must be a JSON object.', `${self()} rpc session.history --params '{"channelId":"gateway"}'`);
}

/** Creates an object without a prototype, so that `__proto__` is an ordinary key that the server rejects. */
function emptyObject(): Params {
  return Object.create(null) as Params;
}

function place(params: Params, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? path;
  let holder = params;
  for (const key of keys) {
    if (!Object.hasOwn(holder, key)) holder[key] = emptyObject();
    const inner = holder[key];
    if (!isObject(inner)) throw twice(path);
    holder = inner;
  }
  if ([last, ...keys].includes('')) throw wrongUsage(`${path} contains an empty name between two dots.`, `${self()} rpc --help`);
  if (Object.hasOwn(holder, last)) throw twice(path);
  holder[last] = value;
}

function twice(path: string): Error {
  return wrongUsage(`${path} is set twice, or both as a value and as an object. Set it once.`, `${self()} rpc --help`);
}

/** Renders params as `key=value` words, quoted for the shell. */
export function writeParams(params: Readonly<Params>, prefix = ''): string[] {
  return Object.entries(params).flatMap(([key, value]) => {
    const path = `${prefix}${key}`;
    if (isObject(value) && canBeDotted(value)) return writeParams(value, `${path}.`);
    return [quote(`${path}=${formatPlain(value)}`)];
  });
}

function canBeDotted(value: Params): boolean {
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => /^[^.=]+$/.test(key));
}

/** Renders a value. A string that parses as JSON is encoded as JSON, because it would be parsed otherwise. */
function formatPlain(value: unknown): string {
  return typeof value === 'string' && parseJson(value) === undefined ? value : JSON.stringify(value);
}
