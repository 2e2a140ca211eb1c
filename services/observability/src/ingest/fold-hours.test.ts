import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { hourCollection, recordCollection, type RecordDocument } from '../documents/collections.ts';
import { foldHours, foldRest } from './fold-hours.ts';

const AT = 1_763_719_201_250;
const EVENTS = 23;
const RECORDS_PER_EVENT = 49;

/** The row of one record of an event. */
function buildRow(seq: number, n: number, log = 'first'): RecordDocument {
  const tokens = { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 };
  const counts = { calls: 1, unknownCalls: 0, unpricedCalls: 0 };
  return {
    recordId: `spent_${log}_${seq}_${n}`,
    log,
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

type Data = Awaited<ReturnType<typeof openData>>;

async function openData(directory: string) {
  const store = await openStore(`sqlite:${join(directory, 'store')}`, { service: 'observability' });
  const data = await store.open({ records: recordCollection, hours: hourCollection });
  return { ...data, [Symbol.asyncDispose]: () => store.close() };
}

async function readHours({ hours }: Data): Promise<(readonly [log: string, seq: number, calls: number[]])[]> {
  const { items } = await hours.for({ tenant: 'default' }).find({});
  return items.map(({ log, seq, entries }) => [log, seq, entries.map(({ calls }) => calls)]);
}

test('folds all rows of a lost log, also if a page ends between the rows of an event', async () => {
  await using directory = await tempDir();
  await using data = await openData(directory.path);
  const records = data.records.for({ tenant: 'default' });
  const rows = Array.from({ length: EVENTS * RECORDS_PER_EVENT }, (_, n) => buildRow(1 + Math.floor(n / RECORDS_PER_EVENT), n));
  await Promise.all(rows.map((row) => records.insert(row)));
  for (let round = 0; round < 2; round += 1) await foldRest(data, { log: 'first', seq: 0 });
  assert.deepEqual(await readHours(data), [['first', EVENTS, [rows.length]]]);
});

test('an hour contains each event of two logs once and reads no rows, also if a slow replica folds the old log last', async () => {
  await using directory = await tempDir();
  await using data = await openData(directory.path);
  const withoutRows = {
    hours: data.hours,
    records: { ...data.records, for: () => assert.fail('rows are read'), system: () => assert.fail('rows are read') },
  };
  const fold = (log: string, ...seqs: number[]): Promise<void> =>
    foldHours(
      withoutRows,
      seqs.map((seq) => ({ tenant: 'default', record: buildRow(seq, 0, log) })),
    );
  await fold('first', 1, 2, 3);
  await fold('second', 1, 2);
  await fold('first', 2, 3, 4);
  await fold('second', 1, 2, 3);
  await fold('first', 4);
  assert.deepEqual(await readHours(data), [['second', 3, [7]]]);
});
