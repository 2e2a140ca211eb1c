import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { findQueries, type Query } from './queries.ts';

const TABLE = new URL('../../docs/reference/queries.md', import.meta.url);

/** A row of the table: file, operation, fields. */
function getRow({ file, collection, operation, fields }: Query): string {
  return `${file} ${collection}.${operation} ${fields.join(' ')}`.trim();
}

/** The first three cells, and whether the others are filled in. */
function readTable(): { row: string; explained: boolean }[] {
  const lines = readFileSync(TABLE, 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('| `'))
    .map((line) => {
      const cells = line.split('|').slice(1, -1);
      const [file, asks, by, often, why] = cells.map((cell) => cell.trim().replaceAll('`', ''));
      return { row: `${file} ${asks} ${by}`.trim(), explained: [often, why].every((cell) => (cell ?? '').length > 3) };
    });
}

describe('queries of a database sharded by tenant and key', { timeout: 180_000 }, () => {
  let queries: Query[] = [];
  before(() => void (queries = findQueries()));

  test('finds the queries of all services', () => {
    const seen = queries.filter(({ tenant, key }) => tenant && key).map(getRow);
    // One of each kind: by key, by a filter built elsewhere, by a list of keys, from a type.
    for (const row of [
      'services/sessions/src/turns/turn-runner.ts turns.get',
      'services/sessions/src/queue/session-queue.ts sessions.update depth key leaseUntil',
      'services/sessions/src/turns/ending/turn-waiters.ts turns.find turnId',
      'services/sessions/src/handlers/session/session-delete.ts sessions.remove depth epoch key lastSeq leaseUntil',
    ])
      assert.ok(seen.includes(row), `${row} is not among\n${seen.join('\n')}`);
    assert.ok(queries.length > 80, `only ${queries.length} were found`);
  });

  test('every query names tenant and key, or is listed in the table with a reason', () => {
    const slow = new Set(queries.filter(({ tenant, key }) => !tenant || !key).map(getRow));
    assert.deepEqual(
      [...slow].toSorted(),
      readTable()
        .map(({ row }) => row)
        .toSorted(),
    );
    for (const { row, explained } of readTable()) assert.ok(explained, `${row}: how often, and why?`);
  });
});
