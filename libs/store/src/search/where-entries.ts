import type { SQLInputValue } from 'node:sqlite';
import { partOf } from './index-file.ts';
import type { ListQuery, Scope } from './search-index.ts';

export interface Where {
  text: string;
  values: SQLInputValue[];
}

/** The entries that a question is about, as a condition on the table `entries`. Every value is a parameter. */
export function whereEntries({ tenant, group, owners, trust, now }: Scope, { kind, tags = [] }: Partial<ListQuery> = {}): Where {
  const conditions: [text: string, ...values: SQLInputValue[]][] = [
    group === undefined ? ['tenant = ?', tenant] : ['part = ?', partOf(tenant, group)],
    ['gone = 0 AND (expires IS NULL OR expires > ?)', now],
    ...among('owner', owners),
    ...among('trust', trust),
    ...among('kind', kind === undefined ? undefined : [kind]),
    ...tags.map((tag): [string, SQLInputValue] => ['EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', tag]),
  ];
  return { text: conditions.map(([text]) => text).join(' AND '), values: conditions.flatMap(([, ...values]) => values) };
}

/** One parameter for any number of values, so that the statement stays the same. */
function among(column: string, values: readonly string[] | undefined): [string, SQLInputValue][] {
  return values === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)]];
}
