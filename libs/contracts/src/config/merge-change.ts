import { z } from 'zod';
import { getEntryWithId, unwrap } from './patch.ts';

type Tree = Record<string, unknown>;

/** A change whose lists are complete, and the dotted paths that it removes. */
export interface MergedChange {
  change: Tree;
  removed: string[];
}

interface Merging {
  removed: string[];
}

/**
 * Completes a change of a configuration: a list whose entries have an id is merged with the present list by these ids, and `null` names a key
 * to remove. Which lists have ids is read from the schema. An entry without an id cannot be merged, so that its list replaces the present one.
 */
export function mergeChange(schema: z.ZodType, present: unknown, change: Tree): MergedChange {
  const merging: Merging = { removed: [] };
  return { change: mergeValue(merging, { schema, present, change, path: '' }) as Tree, removed: merging.removed };
}

interface Place {
  schema: z.core.$ZodType | undefined;
  present: unknown;
  change: unknown;
  path: string;
}

function mergeValue(merging: Merging, { schema, present, change, path }: Place): unknown {
  if (Array.isArray(change)) {
    const entry = schema && getEntryWithId(schema);
    return entry ? mergeEntries(entry, Array.isArray(present) ? present : [], change) : change;
  }
  if (!isTree(change)) return change;
  const merged: Tree = {};
  for (const [key, value] of Object.entries(change)) {
    const below = path === '' ? key : `${path}.${key}`;
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

function mergeEntries(schema: z.ZodObject, present: readonly unknown[], change: readonly unknown[]): unknown[] {
  if (!change.every(hasId)) return [...change];
  const changes = new Map(change.map((entry) => [entry.id, entry]));
  const known = new Set(present.filter(hasId).map(({ id }) => id));
  const kept = present.map((entry) => (hasId(entry) && changes.has(entry.id) ? mergeEntry(schema, entry, changes.get(entry.id)!) : entry));
  return [...kept, ...change.filter(({ id }) => !known.has(id)).map((entry) => mergeEntry(schema, {}, entry))];
}

/** `null` in an entry removes its field. */
function mergeEntry(schema: z.ZodObject, present: unknown, change: Tree): Tree {
  const removed: string[] = [];
  const merged = mergeTrees(present, mergeValue({ removed }, { schema, present, change, path: '' }));
  for (const path of removed) removePath(merged as Tree, path.split('.'));
  return merged as Tree;
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

function hasId(entry: unknown): entry is Tree & { id: string } {
  return isTree(entry) && typeof entry['id'] === 'string';
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
