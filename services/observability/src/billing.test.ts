import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, MEDIA_USAGE, type EventPayload, type ModelTurnUsage } from '@switchyard/contracts';
import { openNats, principal, startMongo } from '@switchyard/testkit';
import { endTurn, getTurnId, startObservability, waitForCalls, type ObservabilityApp } from './observability.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

function modelUsage(model: string, fields: Partial<ModelTurnUsage>): ModelTurnUsage {
  return { model, calls: 1, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0, ...fields };
}

async function recordTurns(app: ObservabilityApp): Promise<void> {
  const [first, second] = [
    modelUsage('openai/gpt-5', { calls: 2, input: 1_000, output: 100, cacheRead: 400, costUsd: 0.3 }),
    modelUsage('elsewhere/m', { input: 50, output: 5 }),
  ];
  const usage = {
    calls: 4,
    unknownCalls: 1,
    input: 1_050,
    output: 105,
    cacheRead: 400,
    cacheWrite: 0,
    costUsd: 0.3,
    models: [first, second],
  };
  await endTurn(app, { turnId: getTurnId('a'), agentId: 'oslo', sessionKey: 'default:alice:telegram:42:peer:7', usage });
  const one = {
    calls: 1,
    input: 10,
    output: 1,
    costUsd: 0.1,
    models: [modelUsage('openai/gpt-5', { input: 10, output: 1, costUsd: 0.1 })],
  };
  await endTurn(app, { turnId: getTurnId('b'), usage: one });
  await endTurn(app, { turnId: getTurnId('c'), usage: { calls: 7, input: 7, output: 7, costUsd: 7 } }, { tenant: 'elsewhere' });
  await waitForCalls(app, 5);
}

async function assertBills(app: ObservabilityApp): Promise<void> {
  await recordTurns(app);
  const { bus } = app.service;
  const total = { totalCost: 0.4, totalTokens: 1_166, callCount: 5, unknownCalls: 1, unpricedCalls: 1 };
  const { totalCacheSaved, ...sums } = await bus.call('obs.billing.total', {});
  assert.deepEqual(sums, total);
  assert.ok(totalCacheSaved > 0, 'reading a cache of a priced model saves money');
  const { totalCost, callCount } = await bus.call('obs.billing.byAgent', { agentId: 'oslo' });
  assert.deepEqual([totalCost, callCount], [0.3, 4]);
  assert.equal((await bus.call('obs.billing.byAgent', { agentId: 'nobody' })).callCount, 0);
  assert.equal((await bus.call('obs.billing.bySession', { sessionKey: 'default:alice:telegram:42:peer:7' })).totalTokens, 1_155);
  assert.equal((await bus.call('obs.billing.bySession', { sessionKey: 'elsewhere:alice:gateway' })).callCount, 0);
  const { providers } = await bus.call('obs.billing.byProvider', { sinceMs: 60_000 });
  const rows = providers.map(({ provider, callCount: calls, unknownCalls, unpricedCalls, estimatedCostUsd }) => {
    return [provider, calls, unknownCalls, unpricedCalls, estimatedCostUsd];
  });
  assert.deepEqual(rows, [
    ['openai', 3, 0, 0, 0.4],
    ['elsewhere', 1, 0, 1, 0],
    ['unknown', 1, 1, 0, 0],
  ]);
  const gpt = providers.flatMap(({ models = [] }) => models).find(({ model }) => model === 'openai/gpt-5');
  assert.deepEqual(gpt?.priceSource, { url: 'https://prices.example', checked: '2026-10-03' }, 'a list price names its page and day');
  const hours = await bus.call('obs.billing.usage24h', {});
  assert.deepEqual(
    hours.map(({ hour }) => hour),
    Array.from({ length: 24 }, (_, hour) => hour),
  );
  assert.equal(
    hours.reduce((sum, { tokens }) => sum + tokens, 0),
    1_166,
  );
  const cache = await bus.call('obs.getCacheStats', {});
  assert.deepEqual([cache.totalHits, cache.cacheEffectiveness, cache.providers['openai']?.hits], [400, 1, 400]);
  assert.equal((await bus.as(principal({ tenant: 'elsewhere', scopes: ['*'] })).call('obs.billing.total', {})).totalCost, 7);
}

test('bills by provider, agent, session and hour on SQLite', async () => {
  await using app = await startObservability();
  await assertBills(app);
});

test('bills by provider, agent, session and hour on NATS and MongoDB', { skip: NATS_OFF, timeout: 90_000 }, async () => {
  await using servers = new AsyncDisposableStack();
  const [nats, mongo] = await Promise.all([openNats(), startMongo()]);
  servers.defer(() => nats.stop());
  servers.defer(() => mongo.stop());
  await using app = await startObservability({ env: { SWITCHYARD_BUS: nats.url, SWITCHYARD_STORE: mongo.url } });
  await assertBills(app);
});

test('a partial hour is counted to the millisecond', async () => {
  await using app = await startObservability();
  await recordTurns(app);
  const { bus } = app.service;
  assert.equal((await bus.call('obs.billing.total', { sinceMs: 0 })).callCount, 0);
  assert.equal((await bus.call('obs.billing.total', { sinceMs: 3_600_000 })).callCount, 5);
  assert.equal((await bus.call('obs.billing.total', { sinceMs: 365 * 86_400_000 })).callCount, 5);
});

test('answers nothing as zeros and rejects bad windows', async () => {
  await using app = await startObservability();
  const { bus } = app.service;
  assert.deepEqual(await bus.call('obs.billing.byProvider', {}), { providers: [] });
  assert.equal((await bus.call('obs.getCacheStats', {})).hitRate, 0);
  await assert.rejects(bus.call('obs.billing.total', { sinceMs: -1 }), { code: 'INVALID_ARGUMENT', message: /sinceMs/ });
  await assert.rejects(bus.call('obs.billing.byAgent', {} as { agentId: string }), { code: 'INVALID_ARGUMENT', message: /agentId/ });
});

test('bills the calls of the media service', async () => {
  await using app = await startObservability();
  const usage = contracts.media.events[MEDIA_USAGE].example as EventPayload<typeof MEDIA_USAGE>;
  await app.record(MEDIA_USAGE, usage);
  await waitForCalls(app, 1);
  const { providers } = await app.service.bus.call('obs.billing.byProvider', {});
  assert.deepEqual(
    providers.map(({ provider, callCount, estimatedCostUsd }) => [provider, callCount, estimatedCostUsd]),
    [['google', 1, 0.0006]],
  );
});

test('sums of a cent are exact', async () => {
  await using app = await startObservability();
  const [record] = (contracts.sessions.events['usage:recorded'].example as EventPayload<'usage:recorded'>).records;
  assert.ok(record);
  for (let n = 0; n < 30; n += 1)
    await app.record('usage:recorded', { records: [{ ...record, id: `spent_${n}`, usage: { ...record.usage, costUsd: 0.01 } }] });
  await waitForCalls(app, 30);
  assert.equal((await app.service.bus.call('obs.billing.total', {})).totalCost, 0.3);
});

test('publishes the cost of each provider and the activity of channels once per period', async () => {
  await using app = await startObservability({ snapshotMs: 50 });
  await recordTurns(app);
  const snapshot = await app.service.nextEvent('diagnostic:billing_snapshot');
  assert.equal(
    snapshot.totalCost,
    snapshot.providers.reduce((sum, { totalCost }) => sum + totalCost, 0),
  );
  assert.ok(snapshot.providers.some(({ provider, callCount }) => provider === 'openai' && callCount > 0));
  assert.deepEqual((await app.service.nextEvent('diagnostic:channel_health')).channels, []);
});
