import { isScalar } from './cursor.ts';
import { misuseError } from './store-misuse.ts';
import type { CollectionShape } from './collection-shape.ts';

export interface CrossTenantQuery {
  filter: Record<string, unknown>;
  sort: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  /** A paged query may read all documents in key order, at a cost in proportion to the page. */
  paged: boolean;
}

/** Throws for a cross-tenant query that would scan the documents of all tenants. */
export function requireCrossTenantIndex({ spec }: CollectionShape, { filter, sort, paged }: CrossTenantQuery): void {
  if (isSelective(filter['tenant'])) return;
  const requests = [...Object.keys(filter), ...sort.map(([field]) => field)];
  if (paged && requests.length === 0) return;
  const serves = (field: string | undefined) => field !== undefined && (isSelective(filter[field]) || (paged && sort[0]?.[0] === field));
  if ((spec.indexes ?? []).some(({ fields, across }) => across === true && serves(fields[0]))) return;
  const description = requests.length === 0 ? 'everything' : [...new Set(requests)].join(', ');
  throw misuseError(spec.name, `no index serves ${description} across tenants; declare one with across: true`);
}

/** Returns whether a condition selects a part of an index, and not the documents without a value. */
function isSelective(condition: unknown): boolean {
  if (condition === null || condition === undefined) return false;
  if (isScalar(condition)) return true;
  const { ne: _ne, exists, lacks: _lacks, has: _has, ...ranges } = condition as Record<string, unknown>;
  return Object.keys(ranges).length > 0 || exists === true;
}
