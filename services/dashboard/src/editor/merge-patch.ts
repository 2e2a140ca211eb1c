export type Tree = Readonly<Record<string, unknown>>;

/** Fields that identify the entries of lists which `config.patch` merges instead of replacing. */
const ENTRY_KEYS = ['id', 'name', 'alias'];

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((value, index) => isEqual(value, b[index]));
  if (!isTree(a) || !isTree(b)) return Object.is(a, b);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** Returns the smallest change that turns one value into the other, with `null` for removed keys; undefined if they are equal. */
export function createMergePatch(before: unknown, after: unknown): unknown {
  if (isEqual(before, after)) return undefined;
  if (!isTree(before) || !isTree(after)) return after;
  const changes = Object.keys({ ...before, ...after }).flatMap((key): [string, unknown][] => {
    if (!Object.hasOwn(after, key)) return [[key, null]];
    const change = Object.hasOwn(before, key) ? createMergePatch(before[key], after[key]) : after[key];
    return change === undefined ? [] : [[key, change]];
  });
  return Object.fromEntries(changes);
}

/** Applies a change of `createMergePatch`. */
export function applyMergePatch(value: unknown, patch: unknown): unknown {
  if (patch === undefined) return value;
  if (!isTree(patch)) return patch;
  const result: Record<string, unknown> = isTree(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else result[key] = applyMergePatch(result[key], change);
  }
  return result;
}

/** Returns the paths that both changes touch with different values. */
export function findConflicts(mine: unknown, theirs: unknown, path = ''): string[] {
  if (mine === undefined || theirs === undefined || isEqual(mine, theirs)) return [];
  if (!isTree(mine) || !isTree(theirs)) return [path];
  return Object.keys(mine)
    .filter((key) => Object.hasOwn(theirs, key))
    .flatMap((key) => findConflicts(mine[key], theirs[key], path === '' ? key : `${path}.${key}`));
}

/** Returns the lists that lost an entry with an id. `config.patch` merges such lists, so that it would keep the entry. */
export function findRemovedEntries(before: unknown, after: unknown, path = ''): string[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const key = ENTRY_KEYS.find((name) => before.length > 0 && before.every((entry) => isTree(entry) && typeof entry[name] === 'string'));
    if (key === undefined) return [];
    const kept = new Set(after.map((entry) => (isTree(entry) ? entry[key] : undefined)));
    return before.every((entry) => kept.has((entry as Tree)[key])) ? [] : [path];
  }
  if (!isTree(before) || !isTree(after)) return [];
  return Object.keys(before).flatMap((key) => findRemovedEntries(before[key], after[key], path === '' ? key : `${path}.${key}`));
}

/** Returns the value at a path of names. */
export function getAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isTree(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);
}

/** Wraps a value in objects, so that it is at the path. */
export function wrapAt(path: readonly string[], value: unknown): Tree {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Tree;
}
