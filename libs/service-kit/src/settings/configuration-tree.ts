import { REDACTED, UNSAFE_KEYS } from '@switchyard/contracts';
import { StartError } from '../variables/start-error.ts';

/** One layer of the configuration: plain objects, lists and values, as parsed from JSON or YAML. */
export type Tree = Record<string, unknown>;
export type Path = readonly string[];

/** Maximum nesting. A YAML alias that contains itself is infinitely deep. */
const DEEPEST = 64;

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges objects key by key; lists and values of the higher layer replace those of the lower one. Drops the key `__proto__`,
 * because assigning it would change the prototype of the result; `constructor` and similar keys are merged like any other.
 */
export function merge(lower: Tree, higher: Tree): Tree {
  const merged: Tree = { ...lower };
  for (const [key, value] of Object.entries(higher)) {
    if (value === undefined || key === '__proto__') continue;
    const below = Object.hasOwn(merged, key) ? merged[key] : undefined;
    merged[key] = isTree(value) ? merge(isTree(below) ? below : {}, value) : value;
  }
  return merged;
}

/** Returns undefined if the layer does not set the path. */
export function valueAt(tree: Tree, path: Path): unknown {
  let value: unknown = tree;
  for (const key of path) {
    if (!isTree(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** Returns a tree that contains only these paths. */
export function only(tree: Tree, paths: readonly Path[]): Tree {
  return paths.reduce<Tree>((kept, path) => merge(kept, getTree(path, valueAt(tree, path))), {});
}

/** Returns a tree that sets one path. */
export function getTree(path: Path, value: unknown): Tree {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Tree;
}

/** Throws for keys that could change object prototypes, and for nesting above `DEEPEST`. */
export function refuseUnsafeKeys(value: unknown, location: string, depth = 0): void {
  if (depth > DEEPEST) throw new StartError(`${location} is nested more than ${DEEPEST} levels deep, or contains itself.`);
  if (Array.isArray(value)) for (const item of value) refuseUnsafeKeys(item, location, depth + 1);
  if (!isTree(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (UNSAFE_KEYS.has(key)) throw new StartError(`${location} has a key named ${key}, which is not allowed.`);
    refuseUnsafeKeys(inner, location, depth + 1);
  }
}

/** Throws if a value is the redaction mark: a user copied a redacted configuration, and the mark would become the secret. */
export function refuseShownSecrets(tree: unknown, place: (path: string) => string, above = ''): void {
  if (tree === REDACTED) {
    const description = `expected a secret, got the placeholder of a hidden secret${place(above)}`;
    throw new StartError(`Config validation failed: ${above}: ${description}`);
  }
  if (typeof tree !== 'object' || tree === null) return;
  for (const [key, inner] of Object.entries(tree)) refuseShownSecrets(inner, place, above === '' ? key : `${above}.${key}`);
}

/** Freezes a value recursively, so that no reader can change a shared snapshot. */
export function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}
