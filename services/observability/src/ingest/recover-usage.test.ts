import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, type EventPayload, type Result } from '@switchyard/contracts';
import { positionCollection, hourCollection, recordCollection } from '../documents/collections.ts';
import { getTurnId, readTotal, startObservability } from '../observability.fixture.ts';
import { createPriceReader } from './price-list.ts';
import { recoverUsage, RESET_POSITION, type RecoveryDeps } from './recover-usage.ts';

type Page = Result<'usage.list'>;

/** More than a batch, so that each page is stored in two. */
const ENTRIES_PER_PAGE = 150;
const BATCHES_PER_PAGE = 2;
const PAGES = 4;
/** Each batch is read once, however many of its entries exist. */
const MAX_READS = PAGES * BATCHES_PER_PAGE + 2;
const AT = Date.now() - 60_000;
const RETENTION_MS = 86_400_000;

/** Returns a page of ended turns with one call each, and the cursor of the next page. */
function buildPage(page: number): Page {
  const example = contracts.sessions.events['turn:ended'].example as EventPayload<'turn:ended'>;
  const usage = { calls: 1, unknownCalls: 0, input: 10, output: 1, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
  const entries = Array.from({ length: ENTRIES_PER_PAGE }, (_, n) => {
    const turnId = getTurnId(page * ENTRIES_PER_PAGE + n);
    return { tenant: 'default', name: 'turn:ended' as const, payload: { ...example, turnId, usage }, at: AT + page };
  });
  return { entries, ...(page + 1 < PAGES ? { cursor: String(page + 1) } : {}) };
}

test('recovers pages of usage with one read per batch, twice without a change, and nothing before a reset', async () => {
  await using app = await startObservability();
  const { host } = app.service;
  const store = await host.store('observability');
  await using _closing = { [Symbol.asyncDispose]: () => store.close() };
  const documents = await store.open({ records: recordCollection, hours: hourCollection, positions: positionCollection });
  let reads = 0;
  const records: RecoveryDeps['records'] = {
    ...documents.records,
    for(caller) {
      const own = documents.records.for(caller);
      return { ...own, find: (...params) => ((reads += 1), own.find(...params)) };
    },
  };
  const own = await host.connect('observability');
  const bus = { as: () => ({ call: async (_method: string, { cursor = '0' }: { cursor?: string }) => buildPage(Number(cursor)) }) };
  const deps = { ...documents, records, bus: bus as unknown as RecoveryDeps['bus'] };
  const prices = await createPriceReader(own, { now: () => 0 })();
  const recover = () => recoverUsage(deps, { list: 'usage.list', since: 0, prices, retentionMs: RETENTION_MS });

  const positions = documents.positions.for({ tenant: 'default' });
  await positions.insert({ name: RESET_POSITION, log: '', seq: 0, at: AT });
  const expected = (PAGES - 1) * ENTRIES_PER_PAGE;
  for (const inserted of [expected, 0]) {
    reads = 0;
    assert.equal(await recover(), inserted);
    assert.ok(reads <= MAX_READS, `${reads} reads`);
    const { callCount, totalTokens } = await readTotal(app);
    assert.deepEqual([callCount, totalTokens], [expected, 11 * expected]);
  }
});
