import { isTree, type Tree } from '@switchyard/service-kit';

const REDACTED = '[REDACTED]';
const SECRET_KEY = /(token|secret|password|api_?key|credential|private_?key)$/i;

/** A configuration fit to be shown: text under the name of a secret is not in it, nor is any header. */
export function shownConfig(config: Tree): Tree {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, shown(value, key)]));
}

function shown(value: unknown, key: string): unknown {
  if (typeof value === 'string') return SECRET_KEY.test(key) ? REDACTED : value;
  if (Array.isArray(value)) return value.map((item) => shown(item, key));
  if (!isTree(value)) return value;
  // A header may be a key under whatever name its server chose.
  return key === 'headers' ? Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED])) : shownConfig(value);
}
