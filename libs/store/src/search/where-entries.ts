import type { SQLInputValue } from 'node:sqlite';
import { partOf } from './index-file.ts';
import type { ListQuery, Scope } from './search-index.ts';

export interface Where {
  text: string;
  values: SQLInputValue[];
}

type Condition = [text: string, ...values: SQLInputValue[]];

/** The entries that a question is about, as a condition on the table `entries`. Every value is a parameter. */
export function whereEntries({ tenant, group, owners, trust, now }: Scope, { kinds, tags = [] }: Partial<ListQuery> = {}): Where {
  const conditions: Condition[] = [
    group === undefined ? ['tenant = ?', tenant] : ['part = ?', partOf(tenant, group)],
    ['gone = 0 AND (expires IS NULL OR expires > ?)', now],
    ...among('owner', owners),
    ...among('trust', trust),
    ...among('kind', kinds),
    ...tagged(tags),
  ];
  return { text: conditions.map(([text]) => text).join(' AND '), values: conditions.flatMap(([, ...values]) => values) };
}

/** One parameter for any number of values, so that the statement stays the same. */
export function among(column: string, values: readonly string[] | undefined): Condition[] {
  return values === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)]];
}

/** Those that have all of them. */
export function tagged(tags: readonly string[]): Condition[] {
  return tags.map((tag) => ['EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', tag]);
}
