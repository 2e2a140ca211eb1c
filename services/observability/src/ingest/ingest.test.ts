import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, type EventPayload } from '@switchyard/contracts';
import { collect, type MetricName } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { endTurn, getTurnId, readTotal, startObservability, waitForCalls, waitUntil } from '../observability.fixture.ts';

/** Returns the value of a metric of this process, of one label if it has some; 0 before the first one. */
function readMetric(metric: MetricName, label?: string): number {
  const points = collect().find(({ name }) => name === metric)?.points ?? [];
  const point = points.find(({ labels }) => label === undefined || labels.includes(label));
  return point !== undefined && 'value' in point ? point.value : 0;
}

test('adds up ended turns and usage records, and stores an event that is published twice once', async () => {
  await using app = await startObservability();
  await endTurn(app, { turnId: getTurnId('a'), usage: { calls: 2, unknownCalls: 1, input: 100, output: 20, costUsd: 0.1 } });
  await endTurn(app, { turnId: getTurnId('a'), usage: { calls: 2, unknownCalls: 1, input: 100, output: 20, costUsd: 0.1 } });
  const spent = contracts.sessions.events['usage:recorded'].example as EventPayload<'usage:recorded'>;
  await app.record('usage:recorded', spent);
  await waitForCalls(app, 3);
  const { totalCost, totalTokens, callCount, unknownCalls } = await readTotal(app);
  assert.deepEqual(
    { totalCost, totalTokens, callCount, unknownCalls },
    { totalCost: 0.1018, totalTokens: 570, callCount: 3, unknownCalls: 1 },
  );
});

/** The payload of an event with `count` usage records of one call and ten tokens each, with different ids. */
function usagePayload(name: string, count: number): EventPayload<'usage:recorded'> {
  const [record] = (contracts.sessions.events['usage:recorded'].example as EventPayload<'usage:recorded'>).records;
  assert.ok(record);
  const usage = { ...record.usage, input: 10, output: 0, costUsd: 0.01 };
  return { records: Array.from({ length: count }, (_, n) => ({ ...record, id: `spent_${name}_${n}`, usage })) };
}

test('bills each record of an event once, also after the event is published again or the log is replayed', async () => {
  await using app = await startObservability({ replicas: 2 });
  const payloads = Array.from({ length: 30 }, (_, n) => usagePayload(`${n}`, 50));
  for (const payload of payloads) await app.record('usage:recorded', payload);
  await waitForCalls(app, 1_500);
  for (const payload of payloads.slice(0, 5)) await app.record('usage:recorded', payload);
  await waitUntil(async () => (await app.readPosition()) >= 35, 'the position');
  await app.rewind();
  await app.record('usage:recorded', usagePayload('last', 1));
  await waitForCalls(app, 1_501);
  const { callCount, totalTokens, totalCost } = await readTotal(app);
  assert.deepEqual({ callCount, totalTokens, totalCost }, { callCount: 1_501, totalTokens: 15_010, totalCost: 15.01 });
});

test('bills an event of an earlier version, which is a single record', async () => {
  await using app = await startObservability();
  await app.recordUnknown('usage:recorded', usagePayload('single', 1).records[0]);
  await waitForCalls(app, 1);
  assert.equal((await readTotal(app)).totalTokens, 10);
});

test('a replay of the log changes no sum, also after a kill between rows and hours', async () => {
  await using data = await tempDir();
  await using app = await startObservability({ data: data.path });
  for (let n = 0; n < 20; n += 1) await endTurn(app, { turnId: getTurnId(n), usage: { calls: 1, input: 10, output: 1, costUsd: 0.1 } });
  await waitForCalls(app, 20);
  const before = await readTotal(app);
  await waitUntil(async () => (await app.readPosition()) >= 20, 'the position');
  // A process that dies before it stores its position leaves the old one.
  await app.rewind();
  await endTurn(app, { turnId: getTurnId('last'), usage: { calls: 1, input: 10, output: 1, costUsd: 0.1 } });
  await waitForCalls(app, 21);
  assert.deepEqual(await readTotal(app), { ...before, callCount: 21, totalTokens: 231, totalCost: 2.1 });
});

test('two replicas that fold the same log count each event once', async () => {
  await using app = await startObservability({ replicas: 2 });
  for (let n = 0; n < 200; n += 1)
    await endTurn(app, { turnId: getTurnId(n), usage: { calls: 1, input: 1, output: 1, costUsd: 0.000_001 } });
  await waitForCalls(app, 200);
  const { callCount, totalCost, totalTokens } = await readTotal(app);
  assert.deepEqual({ callCount, totalCost, totalTokens }, { callCount: 200, totalCost: 0.0002, totalTokens: 400 });
});

test('keeps and counts an event of another version, and does not fold it', async () => {
  const before = readMetric('switchyard.observability.events', 'unreadable');
  await using app = await startObservability();
  await app.recordUnknown('turn:ended', { turnId: 'turn_new', shape: 'of a later version' });
  await endTurn(app, { turnId: getTurnId('a'), usage: { calls: 1 } });
  await waitForCalls(app, 1);
  const { items } = await app.diagnostics.find({ category: 'unreadable' });
  assert.deepEqual(
    items.map(({ eventType, data }) => [eventType, data['turnId']]),
    [['turn:ended', 'turn_new']],
  );
  assert.equal(readMetric('switchyard.observability.events', 'unreadable') - before, 1);
});

test('a clock that jumps changes no hour, because hours have the time of the log', async () => {
  await using app = await startObservability();
  const usage = { calls: 1, input: 10, output: 1, costUsd: 0.1 };
  const year = 365 * 86_400_000;
  for (const [n, jump] of [0, -year, year].entries()) {
    const finishedAt = Date.now() + jump;
    await endTurn(app, { turnId: getTurnId(n), createdAt: finishedAt - 5, startedAt: finishedAt + 1_000, finishedAt, usage });
  }
  await waitForCalls(app, 3);
  assert.equal((await readTotal(app, { sinceMs: 3_600_000 })).callCount, 3);
  const { rows } = await app.service.bus.call('obs.trace.search', { where: 'duration=0' });
  assert.equal(rows.length, 3, 'a turn that ended before it started lasted no time');
});

test('methods answer while ingest waits, and the lag counts the events that wait', async () => {
  const released = Promise.withResolvers<void>();
  await using app = await startObservability({ beforePrices: () => released.promise });
  for (let n = 0; n < 3; n += 1) await endTurn(app, { turnId: getTurnId(n), usage: { calls: 1 } });
  await waitUntil(async () => readMetric('switchyard.observability.lag') === 3, 'a lag of three events');
  assert.equal((await readTotal(app)).callCount, 0);
  released.resolve();
  await waitForCalls(app, 3);
  await waitUntil(async () => readMetric('switchyard.observability.lag') === 0, 'no lag');
});

test('rows and hours expire when the retention of the settings is over', async () => {
  await using app = await startObservability({ env: { SWITCHYARD_OBSERVABILITY__PERSISTENCE__RETENTION_DAYS: '2' } });
  await endTurn(app, { turnId: getTurnId('a'), usage: { calls: 1 } });
  await waitForCalls(app, 1);
  const { items } = await app.records.find({});
  assert.deepEqual(
    items.map(({ at, expiresAt }) => expiresAt - at),
    [2 * 86_400_000],
  );
});
