import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHourId } from '../billing/hour.ts';
import { addAll } from '../billing/usage-sums.ts';
import { hourCollection, recordCollection, type RecordDocument } from '../documents/collections.ts';
import { getTurnId, startObservability } from '../observability.fixture.ts';
import { listEntries } from '../billing/read-billing.ts';
import { foldHours, RECOVERED, sumRecovered, toRecoveredSeq } from './fold-hours.ts';

const TENANT = 'default';
const ROWS = 1_200;
const LOG = 'events-1';

function createRecord(n: number, place: { log: string; seq: number; at: number }): RecordDocument {
  const tokens = { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 };
  const sum = { model: 'local/m', calls: 1, unknownCalls: 0, unpricedCalls: 0, ...tokens, costPico: '7', savedPico: '0' };
  const fields = { event: 'turn_completed' as const, agentId: 'default', state: 'done', steps: 1, attempts: 1, durationMs: 1 };
  const usage = { calls: 1, tokens: 11, costUsd: 0, sums: [sum] };
  return { recordId: getTurnId(n), ...fields, ...place, expiresAt: place.at + 86_400_000, finishedAt: place.at, ...usage };
}

test('the recovered rows of an hour that gains records faster than rows can be read are read once', async () => {
  await using app = await startObservability();
  const store = await app.service.host.store('observability');
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  const { records, hours } = await store.open({ records: recordCollection, hours: hourCollection });
  const at = Date.now();
  const documents = records.for({ tenant: TENANT });
  let next = 1;
  const fold = async (): Promise<void> => {
    const record = createRecord(next, { log: LOG, seq: next++, at });
    await documents.insert(record);
    await foldHours({ records, hours }, [{ tenant: TENANT, record }]);
  };
  await fold();
  for (let n = 0; n < ROWS; n += 1)
    await documents.insert(createRecord(100_000 + n, { log: RECOVERED, seq: toRecoveredSeq(toHourId(at)), at }));

  let pages = 0;
  // Another replica adds a record during each page that is read.
  const busy: typeof records = {
    ...records,
    for: (caller) => ({
      ...records.for(caller),
      async find(filter, options) {
        pages += 1;
        assert.ok(pages < 50, 'the rows are read again and again');
        await fold();
        return records.for(caller).find(filter, options);
      },
    }),
  };
  await sumRecovered({ records: busy, hours }, { tenant: TENANT, hourId: toHourId(at) });
  await fold();
  const hour = await hours.for({ tenant: TENANT }).get(toHourId(at));
  assert.ok(hour);
  const { calls, input, costPico } = addAll(listEntries(hour));
  assert.deepEqual([calls, input, costPico], [ROWS + next - 1, 10 * (ROWS + next - 1), String(7 * (ROWS + next - 1))]);
});
