import { isTree, type Tree } from '@switchyard/service-kit';

const SECRET_KEY = /(token|secret|password|api_?key|credential|private_?key)$/i;

/** A configuration fit to be shown: text under the name of a secret is not in it. */
export function shownConfig(config: Tree): Tree {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, shown(value, key)]));
}

function shown(value: unknown, key: string): unknown {
  if (typeof value === 'string') return SECRET_KEY.test(key) ? '[REDACTED]' : value;
  if (Array.isArray(value)) return value.map((item) => shown(item, key));
  return isTree(value) ? shownConfig(value) : value;
}
