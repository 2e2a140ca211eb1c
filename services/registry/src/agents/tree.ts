export type Tree = Record<string, unknown>;

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Objects are merged key by key; lists and values of the higher replace those of the lower. */
export function merge(lower: Tree, higher: Tree): Tree {
  const merged: Tree = { ...lower };
  for (const [key, value] of Object.entries(higher)) {
    if (value === undefined || key === '__proto__') continue;
    const below = merged[key];
    merged[key] = isTree(below) && isTree(value) ? merge(below, value) : value;
  }
  return merged;
}

/** The same tree with nothing in it but what stands at these paths. */
export function only(tree: Tree, paths: readonly (readonly string[])[]): Tree {
  return paths.reduce<Tree>((kept, path) => merge(kept, treeOf(path, valueAt(tree, path))), {});
}

function valueAt(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isTree(value) && Object.hasOwn(value, key) ? value[key] : undefined), tree);
}

function treeOf(path: readonly string[], value: unknown): Tree {
  const inner = path.toReversed().reduce<unknown>((below, key) => ({ [key]: below }), value);
  return isTree(inner) ? inner : {};
}
