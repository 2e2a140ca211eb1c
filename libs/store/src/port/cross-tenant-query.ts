import { isScalar } from './cursor.ts';
import { misuseError } from './store-misuse.ts';
import type { CollectionShape } from './collection-shape.ts';

export interface CrossTenantQuery {
  filter: Record<string, unknown>;
  sort: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  /** Reads page by page, so that walking through everything in the order of the keys costs what it gives. */
  paged: boolean;
}

/** Refuses a query across tenants that would read every document of every tenant to answer. */
export function requireCrossTenantIndex({ spec }: CollectionShape, { filter, sort, paged }: CrossTenantQuery): void {
  if (isSelective(filter['tenant'])) return;
  const asked = [...Object.keys(filter), ...sort.map(([field]) => field)];
  if (paged && asked.length === 0) return;
  const serves = (field: string | undefined) => field !== undefined && (isSelective(filter[field]) || (paged && sort[0]?.[0] === field));
  if ((spec.indexes ?? []).some(({ fields, across }) => across === true && serves(fields[0]))) return;
  const what = asked.length === 0 ? 'everything' : [...new Set(asked)].join(', ');
  throw misuseError(spec.name, `no index serves ${what} across tenants; declare one with across: true`);
}

/** Whether a condition leaves a part of an index, and not what is missing from most documents. */
function isSelective(condition: unknown): boolean {
  if (condition === null || condition === undefined) return false;
  if (isScalar(condition)) return true;
  const { ne: _ne, exists, lacks: _lacks, has: _has, ...ranges } = condition as Record<string, unknown>;
  return Object.keys(ranges).length > 0 || exists === true;
}
