import { z } from 'zod';
import { getKeyedEntry, unwrap, type KeyedEntry } from './keyed-list.ts';

type Tree = Record<string, unknown>;
/** The names of a path. A name may contain dots. */
type Path = readonly string[];

/** A change whose lists are complete. */
export interface MergedChange {
  change: Tree;
  /** The paths that the change removes. */
  removed: Path[];
  /** The parts of the present lists that the complete lists contain and the change does not. */
  copied: CopiedPart[];
}

export interface CopiedPart {
  /** The path of the list. */
  path: Path;
  /** The key of the entry; undefined for an entry without one. */
  key: string | undefined;
  part: Tree;
}

type Merging = Omit<MergedChange, 'change'>;

/**
 * Completes a change of a configuration: a keyed list is merged with the present list by the key of its entries, and `null` names a key to
 * remove. The schema declares keyed lists. An entry without its key cannot be merged, so that its list replaces the present one.
 */
export function mergeChange(schema: z.ZodType, present: unknown, change: Tree): MergedChange {
  const merging: Merging = { removed: [], copied: [] };
  return { change: mergeValue(merging, { schema, present, change, path: [] }) as Tree, ...merging };
}

interface Place {
  schema: z.core.$ZodType | undefined;
  present: unknown;
  change: unknown;
  path: Path;
}

function mergeValue(merging: Merging, { schema, present, change, path }: Place): unknown {
  if (Array.isArray(change)) {
    const entry = schema && getKeyedEntry(schema);
    return entry ? mergeEntries(merging, entry, { present: Array.isArray(present) ? present : [], change, path }) : change;
  }
  if (!isTree(change)) return change;
  const merged: Tree = {};
  for (const [key, value] of Object.entries(change)) {
    const below = [...path, key];
    if (value === null) merging.removed.push(below);
    else if (value !== undefined)
      merged[key] = mergeValue(merging, {
        schema: getChild(schema, key),
        present: isTree(present) && Object.hasOwn(present, key) ? present[key] : undefined,
        change: value,
        path: below,
      });
  }
  return merged;
}

function getChild(schema: z.core.$ZodType | undefined, key: string): z.core.$ZodType | undefined {
  const inner = schema && unwrap(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType;
  if (inner instanceof z.ZodObject && Object.hasOwn(inner.shape, key)) return (inner.shape as z.core.$ZodShape)[key];
  return undefined;
}

interface EntryLists {
  present: readonly unknown[];
  change: readonly unknown[];
  path: Path;
}

function mergeEntries(merging: Merging, { schema, key }: KeyedEntry, { present, change, path }: EntryLists): unknown[] {
  const keyOf = (entry: unknown): string | undefined => (isTree(entry) && typeof entry[key] === 'string' ? entry[key] : undefined);
  const changes = new Map((change as Tree[]).map((entry) => [keyOf(entry), entry]));
  // An entry without a key, or two entries with the same key, cannot be merged.
  if (changes.has(undefined) || changes.size < change.length) return [...change];
  const known = new Set(present.map(keyOf));
  const kept = present.map((entry) => {
    const name = keyOf(entry);
    const changed = name === undefined ? undefined : changes.get(name);
    if (isTree(entry)) merging.copied.push({ path, key: name, part: omitChanged(entry, { ...changed, [key]: null }) });
    return changed === undefined ? entry : mergeEntry(schema, entry, changed);
  });
  return [...kept, ...[...changes].filter(([name]) => !known.has(name)).map(([, entry]) => mergeEntry(schema, {}, entry))];
}

/** `null` in an entry removes its field. */
function mergeEntry(schema: z.ZodObject, present: unknown, change: Tree): Tree {
  const merging: Merging = { removed: [], copied: [] };
  const merged = mergeTrees(present, mergeValue(merging, { schema, present, change, path: [] }));
  for (const path of merging.removed) removePath(merged as Tree, path);
  return merged as Tree;
}

/** The part of an entry that a change neither replaces nor removes. */
function omitChanged(present: Tree, change: Tree): Tree {
  const kept = Object.entries(present).flatMap(([key, value]): [string, unknown][] => {
    const changed = Object.hasOwn(change, key) ? change[key] : undefined;
    if (changed === undefined) return [[key, value]];
    return isTree(value) && isTree(changed) ? [[key, omitChanged(value, changed)]] : [];
  });
  return Object.fromEntries(kept);
}

function mergeTrees(lower: unknown, higher: unknown): unknown {
  if (!isTree(higher)) return higher;
  const merged: Tree = isTree(lower) ? structuredClone(lower) : {};
  for (const [key, value] of Object.entries(higher)) merged[key] = mergeTrees(merged[key], value);
  return merged;
}

function removePath(tree: Tree, [key, ...below]: readonly string[]): void {
  if (key === undefined || !Object.hasOwn(tree, key)) return;
  const inner = tree[key];
  if (below.length === 0) delete tree[key];
  else if (isTree(inner)) removePath(inner, below);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
