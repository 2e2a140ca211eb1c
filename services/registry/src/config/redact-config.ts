import { REDACTED } from '@switchyard/contracts';
import { isTree, type Tree } from '@switchyard/service-kit';

const SECRET_KEY = /(token|secret|password|api_?key|credential|private_?key)$/i;

/** The password of `scheme://user:password@host`. */
const PASSWORD_IN_URL = /(:\/\/[^\s:/@]{0,256}:)[^\s/@]+(?=@)/g;
/** All values of these maps are redacted, because their names are free. */
const SECRET_MAPS: ReadonlySet<string> = new Set(['headers', 'env']);

/** Redacts values under secret names, headers, variables and passwords in URLs. */
export function redactConfig(config: Tree): Tree {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, redactValue(value, key)]));
}

function redactValue(value: unknown, key: string): unknown {
  if (typeof value === 'string') return SECRET_KEY.test(key) ? REDACTED : value.replace(PASSWORD_IN_URL, `$1${REDACTED}`);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, key));
  if (!isTree(value)) return value;
  return SECRET_MAPS.has(key) ? Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED])) : redactConfig(value);
}
