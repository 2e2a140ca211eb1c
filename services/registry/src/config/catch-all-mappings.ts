import type { Tree } from '@switchyard/service-kit';
import { valueAt } from '@switchyard/service-kit';

interface Mapping {
  id?: string;
  match?: { path?: string; source?: string };
}

/** Describes webhook mappings that a write makes a catch-all: they match every path and source, and later mappings never match. */
export function describeNewCatchAlls(before: Tree, after: Tree): string[] {
  const earlier = new Set(listCatchAlls(before));
  return listCatchAlls(after)
    .filter((name) => !earlier.has(name))
    .map((name) => `webhooks.mappings: the mapping ${name} matches every path and source now. Set its match.path or match.source.`);
}

function listCatchAlls(tree: Tree): string[] {
  const mappings = valueAt(tree, ['webhooks', 'mappings']);
  if (!Array.isArray(mappings)) return [];
  return (mappings as Mapping[]).flatMap(({ id, match }, index) =>
    match?.path === undefined && match?.source === undefined ? [id ?? `number ${index + 1}`] : [],
  );
}
