import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { hourCollection, recordCollection, type RecordDocument } from '../documents/collections.ts';
import { foldRest } from './fold-hours.ts';

const AT = 1_763_719_201_250;
const EVENTS = 23;
const RECORDS_PER_EVENT = 49;

/** The row of one record of an event. */
function buildRow(seq: number, n: number): RecordDocument {
  const tokens = { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 };
  const counts = { calls: 1, unknownCalls: 0, unpricedCalls: 0 };
  return {
    recordId: `spent_${seq}_${n}`,
    log: 'first',
    seq,
    at: AT,
    expiresAt: AT + 86_400_000,
    event: 'usage_recorded',
    agentId: 'default',
    state: 'answered',
    steps: 0,
    attempts: 1,
    durationMs: 0,
    finishedAt: AT,
    calls: 1,
    tokens: 11,
    costUsd: 0,
    sums: [{ model: 'openai/gpt-5', ...counts, ...tokens, costPico: '0', savedPico: '0' }],
  };
}

test('folds all rows of a lost log, also if a page ends between the rows of an event', async () => {
  await using directory = await tempDir();
  const store = await openStore(`sqlite:${join(directory.path, 'store')}`, { service: 'observability' });
  await using _closed = { [Symbol.asyncDispose]: () => store.close() };
  const data = await store.open({ records: recordCollection, hours: hourCollection });
  const records = data.records.for({ tenant: 'default' });
  const rows = Array.from({ length: EVENTS * RECORDS_PER_EVENT }, (_, n) => buildRow(1 + Math.floor(n / RECORDS_PER_EVENT), n));
  await Promise.all(rows.map((row) => records.insert(row)));
  for (let round = 0; round < 2; round += 1) await foldRest(data, { log: 'first', seq: 0 });
  const { items } = await data.hours.for({ tenant: 'default' }).find({});
  assert.deepEqual(
    items.map(({ seq, entries }) => [seq, entries.map(({ calls }) => calls)]),
    [[EVENTS, [rows.length]]],
  );
});
