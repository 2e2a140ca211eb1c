import { isDeepStrictEqual } from 'node:util';
import { isTree, type Tree } from '@switchyard/service-kit';

/** Dotted paths at which two trees differ. Lists are compared as a whole. Empty objects count as missing. */
export function changedPaths(before: unknown, after: unknown, prefix = ''): string[] {
  const [from, to] = [isTree(before) ? before : undefined, isTree(after) ? after : undefined];
  if (from === undefined && to === undefined) return isDeepStrictEqual(before, after) ? [] : [prefix];
  const ownChange = (before !== undefined && from === undefined) || (after !== undefined && to === undefined) ? [prefix] : [];
  const keys = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})]);
  return [...ownChange, ...[...keys].flatMap((key) => changedPaths(from?.[key], to?.[key], prefix === '' ? key : `${prefix}.${key}`))];
}

/** Iterates over the values of a tree with their paths. Lists are values. */
export function* iterateLeaves(
  tree: Tree,
  above: readonly string[] = [],
): Generator<{ path: readonly string[]; value: unknown }, void, void> {
  for (const [key, value] of Object.entries(tree)) {
    const path = [...above, key];
    if (isTree(value)) yield* iterateLeaves(value, path);
    else if (value !== undefined) yield { path, value };
  }
}

/** A copy of the tree without the value at this path and without objects that become empty. */
export function omitPath(tree: Tree, [key, ...below]: readonly string[]): Tree {
  if (key === undefined || !Object.hasOwn(tree, key)) return tree;
  const { [key]: inner, ...rest } = tree;
  const left = below.length > 0 && isTree(inner) ? omitPath(inner, below) : undefined;
  return left === undefined || Object.keys(left).length === 0 ? rest : { ...rest, [key]: left };
}
