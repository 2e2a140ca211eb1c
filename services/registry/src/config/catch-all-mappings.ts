import { isDeepStrictEqual } from 'node:util';
import type { Tree } from '@switchyard/service-kit';
import { valueAt } from '@switchyard/service-kit';

interface Mapping {
  id?: string;
  match?: { path?: string; source?: string };
}

/**
 * Describes webhook mappings that a write makes a catch-all: they match every path and source, and later mappings never match. Both trees are
 * effective configurations, because the stored layer may copy or uncover mappings of a file.
 */
export function describeNewCatchAlls(before: Tree, after: Tree): string[] {
  const earlier = listCatchAlls(before);
  const isNew = ({ mapping }: CatchAll): boolean =>
    !earlier.some((known) => (mapping.id === undefined ? isDeepStrictEqual(known.mapping, mapping) : known.mapping.id === mapping.id));
  return listCatchAlls(after)
    .filter(isNew)
    .map(({ name }) => `webhooks.mappings: the mapping ${name} matches every path and source now. Set its match.path or match.source.`);
}

interface CatchAll {
  name: string;
  mapping: Mapping;
}

function listCatchAlls(tree: Tree): CatchAll[] {
  const mappings = valueAt(tree, ['webhooks', 'mappings']);
  if (!Array.isArray(mappings)) return [];
  return (mappings as Mapping[]).flatMap((mapping, index) =>
    mapping.match?.path === undefined && mapping.match?.source === undefined
      ? [{ name: mapping.id ?? `number ${index + 1}`, mapping }]
      : [],
  );
}
