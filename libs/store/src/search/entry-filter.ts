import type { SQLInputValue } from 'node:sqlite';
import { computePartition } from './index-file.ts';
import type { ListQuery, Scope } from './search-index.ts';

/** A condition on the table `entries`. Every value is a parameter. */
export interface SqlFilter {
  text: string;
  values: SQLInputValue[];
}

type Condition = [text: string, ...values: SQLInputValue[]];

export function buildEntryFilter({ tenant, group, owners, trust, now }: Scope, { kinds, tags = [] }: Partial<ListQuery> = {}): SqlFilter {
  return joinConditions([
    group === undefined ? ['tenant = ?', tenant] : ['part = ?', computePartition(tenant, group)],
    ['gone = 0 AND (expires IS NULL OR expires > ?)', now],
    ...matchAny('owner', owners),
    ...matchAny('trust', trust),
    ...matchAny('kind', kinds),
    ...matchTags(tags),
  ]);
}

export function joinConditions(conditions: readonly Condition[]): SqlFilter {
  return { text: conditions.map(([text]) => text).join(' AND '), values: conditions.flatMap(([, ...values]) => values) };
}

/** Uses one parameter for any number of values, so that the statement text stays the same. */
export function matchAny(column: string, values: readonly string[] | undefined): Condition[] {
  return values === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)]];
}

/** Matches entries that have all tags. */
export function matchTags(tags: readonly string[]): Condition[] {
  return tags.map((tag) => ['EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', tag]);
}
