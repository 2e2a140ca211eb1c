import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { endTurn, getTurnId, startObservability, waitUntil, type ObservabilityApp, type TurnFields } from './observability.fixture.ts';

const FAILED: TurnFields = { state: 'failed', failure: { code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE', status: 503 } };

async function waitForRows(app: ObservabilityApp, rows: number): Promise<void> {
  await waitUntil(async () => (await app.records.count({})) >= rows, `${rows} rows`);
}

async function recordSessions(app: ObservabilityApp): Promise<void> {
  await endTurn(app, {
    turnId: getTurnId(1),
    sessionKey: 'default:alice:gateway',
    usage: { calls: 1, input: 10, output: 2, costUsd: 0.5 },
  });
  await endTurn(app, { turnId: getTurnId(2), sessionKey: 'default:bob:telegram:42:peer:7', agentId: 'oslo', ...FAILED });
  await endTurn(app, { turnId: getTurnId(3), sessionKey: 'default:bench:bench:1', ...FAILED });
  await endTurn(app, { turnId: getTurnId(4), sessionKey: 'elsewhere:eve:gateway', ...FAILED }, { tenant: 'elsewhere' });
  await waitForRows(app, 3);
  await waitUntil(async () => (await app.readPosition()) >= 4, 'the position');
}

test('obs.trace.search filters, hides synthetic sessions and returns the newest first', async () => {
  await using app = await startObservability();
  await recordSessions(app);
  const search = async (params: object): Promise<unknown[]> =>
    (await app.service.bus.call('obs.trace.search', params)).rows.map(({ traceId }) => Number(String(traceId).slice(-2)));
  assert.deepEqual(await search({}), [2, 1]);
  assert.deepEqual(await search({ includeSynthetic: true }), [3, 2, 1]);
  assert.deepEqual(await search({ where: 'error' }), [2]);
  assert.deepEqual(await search({ where: 'agent=oslo, reason=PROVIDER_UNAVAILABLE' }), [2]);
  assert.deepEqual(await search({ where: 'cost>0.1, tokens<=12', since: '30d' }), [1]);
  assert.deepEqual(await search({ chatId: 'telegram:42' }), [2]);
  assert.deepEqual(await search({ traceId: getTurnId(1) }), [1]);
  assert.deepEqual(await search({ messageId: `${getTurnId(1)}/1` }), [1]);
  assert.deepEqual(await search({ messageId: 'nothing' }), []);
  assert.deepEqual(await search({ limit: 1 }), [2]);
  assert.deepEqual(await search({ since: '0s' }), []);
  await assert.rejects(search({ where: 'weight>1' }), { code: 'INVALID_ARGUMENT', message: /where: at character 1/ });
  await assert.rejects(search({ where: 'agent=a,'.repeat(2_000) }), { code: 'INVALID_ARGUMENT', message: /where/ });
  assert.deepEqual(await search({ limit: 100_000 }), [2, 1], 'a limit above the maximum is the maximum');
});

test('obs.trace.search covers two days without since, and all kept rows with a longer one', async () => {
  await using app = await startObservability();
  const now = Date.now();
  for (const [hours, id] of [47, 49, 24 * 20].map((age, n) => [age, getTurnId(n)] as const)) {
    const at = now - hours * 3_600_000;
    const place = { log: 'earlier', seq: hours, at, expiresAt: now + 86_400_000 };
    const turn = { recordId: id, traceId: id, event: 'turn_completed' as const, agentId: 'default', state: 'done', steps: 1, attempts: 1 };
    await app.records.insert({ ...turn, ...place, durationMs: 1, finishedAt: at, calls: 1, tokens: 1, costUsd: 0, sums: [] });
  }
  const search = async (params: object): Promise<unknown[]> =>
    (await app.service.bus.call('obs.trace.search', params)).rows.map(({ traceId }) => Number(String(traceId).slice(-2)));
  assert.deepEqual(await search({}), [0]);
  assert.deepEqual(await search({ since: '50h' }), [0, 1]);
  assert.deepEqual(await search({ since: '365d' }), [0, 1, 2]);
});

test('obs.explain answers an unknown session and one of another tenant with an empty report', async () => {
  await using app = await startObservability();
  await recordSessions(app);
  const { bus } = app.service;
  for (const params of [{ sessionKey: 'default:nobody:gateway' }, { sessionKey: 'elsewhere:eve:gateway' }, { traceId: getTurnId(4) }]) {
    const report = await bus.call('obs.explain', params);
    assert.deepEqual([report.coverage?.trajectory.found, report.likelyRootCause, report.timing.turnCount], [false, null, 0]);
  }
  await assert.rejects(bus.call('obs.explain', {}), { code: 'INVALID_ARGUMENT', message: /sessionKey or traceId/ });
  const theirs = bus.as(principal({ tenant: 'elsewhere', scopes: ['*'] }));
  assert.equal((await theirs.call('obs.explain', { traceId: getTurnId(4) })).likelyRootCause?.code, 'provider_down');
});

test('a summary stays within 6 KB and names what it drops', async () => {
  await using app = await startObservability();
  const tool = { name: 'web_fetch', args: '9f2c1e7ab04d', failed: true, error: 'UNAVAILABLE', ms: 5, chars: 20, result: '9f2c1e7ab04d' };
  const steps = Array.from({ length: 40 }, (_, at) => ({
    step: at + 1,
    ms: 10,
    chars: 5,
    budget: { leftTokens: 900 - at },
    tools: [tool, { ...tool, name: `tool_${at}` }],
  }));
  await endTurn(app, { turnId: getTurnId(1), evidence: { steps, dropped: 7 } });
  await waitForRows(app, 1);
  const params = { traceId: getTurnId(1) };
  const summary = await app.service.bus.call('obs.explain', params);
  assert.ok(JSON.stringify(summary).length <= 6_144, String(JSON.stringify(summary).length));
  const fields = summary.truncations.map(({ field }) => field);
  assert.ok(
    ['failures', 'waterfall', 'toolStats'].every((field) => fields.includes(field)),
    fields.join(),
  );
  const full = await app.service.bus.call('obs.explain', { ...params, depth: 'full' });
  assert.deepEqual([full.failures.length, full.failures[0]?.toolName], [80, 'tool_39']);
  assert.deepEqual(full.waterfall?.[39]?.budget, { leftTokens: 861 });
  assert.deepEqual(full.truncations, [{ field: 'waterfall', reason: '7 steps are beyond what evidence keeps' }]);
});

test('obs.fleet.health counts sessions by their last turn and ranks causes', async () => {
  await using app = await startObservability();
  await recordSessions(app);
  await app.record('system:error', { error: { message: 'database is locked', errorKind: 'dependency' }, source: 'sessions' });
  await waitUntil(async () => (await app.diagnostics.count({})) >= 1, 'a diagnostic event');
  const report = await app.service.bus.call('obs.fleet.health', {});
  assert.deepEqual(report.sessions, { total: 2, degraded: 1, degradedRate: 0.5 });
  assert.deepEqual(report.degradedByCause, { unknown: 1 });
  assert.deepEqual(report.topErrorKinds, [{ kind: 'network', count: 1 }]);
  assert.equal(report.likelyRootCause?.code, 'fleet_high_degraded_rate');
  const codes = report.findings.map(({ code }) => code);
  assert.ok(codes.includes('fleet_high_degraded_rate') && report.findings.length <= 8, codes.join());
  assert.deepEqual(report.activity.activeChannels, ['gateway', 'telegram:42']);
  assert.equal(report.cost.costUsd, 0.5);
  assert.equal(report.coverage?.sessionIndex.daysMissing, 0);
  assert.equal((await app.service.bus.call('obs.fleet.health', { sinceHours: 24 * 60 })).coverage?.sessionIndex.daysMissing, 30);
  for (const sinceHours of [0, -1])
    await assert.rejects(app.service.bus.call('obs.fleet.health', { sinceHours }), { code: 'INVALID_ARGUMENT' });
});

test('obs.diagnostics returns events by category with all counts', async () => {
  await using app = await startObservability();
  await app.record('system:error', { error: { message: 'database is locked', errorKind: 'dependency' }, source: 'sessions' });
  await app.record('provider:recovered', { provider: 'openai', timestamp: 1 });
  await waitUntil(async () => (await app.diagnostics.count({})) >= 2, 'diagnostic events');
  const { events, counts } = await app.service.bus.call('obs.diagnostics', { category: 'model_health', limit: 1 });
  assert.deepEqual(
    events.map(({ eventType, data }) => [eventType, data['provider']]),
    [['provider:recovered', 'openai']],
  );
  assert.deepEqual([counts['model_health'], counts['health_signal']], [1, 1]);
});

test('obs.reset deletes the rows of the tenant, counts them and is audited', async () => {
  await using app = await startObservability();
  await recordSessions(app);
  const { bus, audited } = app.service;
  await assert.rejects(bus.call('obs.reset.table', { table: 'everything' as 'delivery' }), {
    code: 'INVALID_ARGUMENT',
    message: /token_usage/,
  });
  assert.equal((await bus.call('obs.reset.table', { table: 'delivery' })).rowsDeleted, 0);
  assert.deepEqual(await bus.call('obs.reset.table', { table: 'token_usage' }), { reset: true, table: 'token_usage', rowsDeleted: 3 });
  const delivery = await app.service.nextEvent('observability:reset');
  const usage = await app.service.nextEvent('observability:reset');
  assert.deepEqual([delivery.table, usage.table, usage.rowsDeleted.tokenUsage], ['delivery', 'token_usage', 3]);
  assert.equal((await bus.call('obs.billing.total', {})).callCount, 0);
  const theirs = bus.as(principal({ tenant: 'elsewhere', scopes: ['*'] }));
  assert.equal((await theirs.call('obs.trace.search', {})).rows.length, 1);
  assert.equal((await bus.call('obs.reset', {})).rowsDeleted.tokenUsage, 0);
  assert.deepEqual([...new Set(audited.map(({ outcome }) => outcome))], ['success']);
  assert.ok(audited.length >= 3);
});

test('figures of channels and deliveries are empty and say why', async () => {
  await using app = await startObservability();
  const { bus } = app.service;
  const answers = await Promise.all([
    bus.call('obs.channels.all', {}),
    bus.call('obs.channels.stale', {}),
    bus.call('obs.channels.get', { channelId: 'telegram:42' }),
    bus.call('obs.delivery.recent', {}),
    bus.call('obs.delivery.stats', {}),
  ]);
  for (const { note } of answers) assert.match(note ?? '', /channels service/);
});
