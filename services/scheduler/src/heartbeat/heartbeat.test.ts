import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Handler } from '@switchyard/bus';
import { contracts, ServiceError, type Result } from '@switchyard/contracts';
import { principal, tempDir } from '@switchyard/testkit';
import { putAgent, testScheduler } from '../scheduler.fixture.ts';

const HOUR_MS = 3_600_000;
const target = { channelType: 'telegram', channelId: 'telegram', chatId: '678' };
/** An agent whose scheduled beats are too rare to disturb a test. */
const watcher = (heartbeat: object = {}) => ({
  scheduler: { heartbeat: { prompt: 'Look after the disks.', intervalMs: HOUR_MS, ...heartbeat } },
});
const reply = (response: string) => ({
  result: { response, tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' as const },
});

type App = Awaited<ReturnType<typeof testScheduler>>;

/** Resolves with the state of the default agent once it matches. */
async function waitForState(app: App, matches: (state: Result<'heartbeat.states'>['agents'][number]) => boolean) {
  for (;;) {
    const state = (await app.bus.call('heartbeat.states', {})).agents.find(({ agentId }) => agentId === 'default');
    if (state && matches(state)) return state;
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}

test('heartbeat.trigger orders a turn with the prompt, the tools and the history of a heartbeat', async () => {
  await using app = await testScheduler({ agent: watcher() });
  assert.deepEqual(await app.bus.call('heartbeat.trigger', { agentId: 'default' }), { agentId: 'default', triggered: true });
  const order = await app.turns.next();
  assert.match(order.message, /^Look after the disks\.\n\n.*HEARTBEAT_OK/);
  const { kind, tools, history, session, client, timeoutMs } = order;
  assert.deepEqual(
    { kind, tools, history, session, client, timeoutMs },
    {
      kind: 'heartbeat',
      tools: { profile: 'heartbeat-minimal' },
      history: { mode: 'rolling', turns: 3 },
      session: { userId: 'heartbeat:default', agentId: 'default' },
      client: 'scheduler/heartbeat',
      timeoutMs: 60_000,
    },
  );
  assert.notEqual((await waitForState(app, ({ tickStartedAtMs }) => tickStartedAtMs !== null)).tickStartedAtMs, null);
  app.turns.end(order.turnId, reply('HEARTBEAT_OK'));
  const state = await waitForState(app, ({ lastRunMs }) => lastRunMs !== null);
  assert.deepEqual([state.lastOutcome, state.consecutiveErrors, state.tickStartedAtMs], ['ok', 0, null]);
  assert.equal(app.turns.orders.size, 1);
});

test('heartbeat.get returns the settings of the agent and the effective ones', async () => {
  await using app = await testScheduler({ agent: watcher({ showOk: true }) });
  const { perAgent, effective } = await app.bus.call('heartbeat.get', { agentId: 'default' });
  assert.deepEqual(perAgent, { prompt: 'Look after the disks.', intervalMs: HOUR_MS, showOk: true });
  assert.deepEqual([effective['intervalMs'], effective['showOk'], effective['alertThreshold']], [HOUR_MS, true, 2]);
});

test('an unknown agent and an agent of others are not found', async () => {
  await using app = await testScheduler({ agents: ['oslo'] });
  const other = app.bus.as(principal({ scopes: ['admin'], agents: ['oslo'] }));
  for (const method of ['heartbeat.get', 'heartbeat.trigger'] as const) {
    await assert.rejects(app.bus.call(method, { agentId: 'nowhere' }), { code: 'NOT_FOUND', message: /nowhere/ });
    await assert.rejects(other.call(method, { agentId: 'default' }), { code: 'NOT_FOUND' });
  }
  const { agents } = await other.call('heartbeat.states', {});
  assert.deepEqual(
    agents.map(({ agentId }) => agentId),
    ['oslo'],
  );
});

test('an agent without a prompt is skipped while no workspace service is installed', async () => {
  await using app = await testScheduler();
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  const { lastReason } = await waitForState(app, ({ lastOutcome }) => lastOutcome === 'skipped');
  assert.match(lastReason ?? '', /workspace service is not installed/);
  assert.equal(app.turns.orders.size, 0);
});

test('scheduled beats follow the interval, and a change of the agent takes effect at once', async () => {
  await using app = await testScheduler({ agent: watcher() });
  await waitForState(app, ({ nextDueMs }) => nextDueMs !== null);
  await putAgent(app.host.bus, 'default', watcher({ intervalMs: 200 }));
  const first = await app.turns.next();
  assert.match(first.idempotencyKey, /^heartbeat:default@\d+:interval$/);
  app.turns.end(first.turnId, reply('HEARTBEAT_OK'));
  const second = await app.turns.next();
  const instants = [first, second].map(({ idempotencyKey }) => Number(/@(\d+)/.exec(idempotencyKey)?.[1]));
  assert.equal(((instants[1] ?? 0) - (instants[0] ?? 0)) % 200, 0);
});

test('wakes during a beat share the next one', async () => {
  await using app = await testScheduler({ agent: watcher() });
  await app.bus.call('scheduler.wake', { source: 'deploy' });
  await app.bus.call('scheduler.wake', {});
  const first = await app.turns.next();
  assert.match(first.idempotencyKey, /:wake$/);
  await app.bus.call('scheduler.wake', {});
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  app.turns.end(first.turnId, reply('HEARTBEAT_OK'));
  const second = await app.turns.next();
  app.turns.end(second.turnId, reply('HEARTBEAT_OK'));
  await waitForState(app, ({ tickStartedAtMs }) => tickStartedAtMs === null);
  assert.equal(app.turns.orders.size, 2);
});

test('scheduler.wake leaves out agents without scheduled beats, which heartbeat.trigger runs', async () => {
  await using app = await testScheduler({ agent: watcher({ enabled: false }) });
  await app.bus.call('scheduler.wake', {});
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  assert.match((await app.turns.next()).idempotencyKey, /:manual$/);
});

test('an alert for a target is failed while no channels service is installed', async () => {
  await using app = await testScheduler({ agent: watcher({ target }) });
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  app.turns.end((await app.turns.next()).turnId, reply('The disk is full.'));
  const { level, outcome, reason, chatId } = await app.nextEvent('scheduler:heartbeat_delivered');
  assert.deepEqual([level, outcome, reason, chatId], ['alert', 'failed', 'not_installed', '678']);
});

test('transient errors raise an alert at the threshold, permanent ones at once', async () => {
  await using app = await testScheduler({ agent: watcher() });
  const fail = async (message: string): Promise<void> => {
    await app.bus.call('heartbeat.trigger', { agentId: 'default' });
    app.turns.end((await app.turns.next()).turnId, { state: 'failed', result: undefined, failure: { code: 'UNAVAILABLE', message } });
  };
  await fail('no answer');
  await waitForState(app, ({ consecutiveErrors }) => consecutiveErrors === 1);
  await fail('no answer');
  const { consecutiveErrors, classification, backoffMs } = await app.nextEvent('scheduler:heartbeat_alert');
  assert.deepEqual([consecutiveErrors, classification, backoffMs], [2, 'transient', 60_000]);
  const state = await waitForState(app, ({ lastAlertMs }) => lastAlertMs !== null);
  assert.deepEqual([state.lastErrorKind, state.lastOutcome], ['transient', 'error']);

  await using other = await testScheduler({ agent: watcher() });
  other.turns.reject(new ServiceError('INVALID_ARGUMENT', 'the model is not configured'));
  await other.bus.call('heartbeat.trigger', { agentId: 'default' });
  assert.equal((await other.nextEvent('scheduler:heartbeat_alert')).classification, 'permanent');
});

test('an event of a webhook is read by the next heartbeat, once and as untrusted material', async () => {
  await using app = await testScheduler({ agent: watcher() });
  const event = { source: 'deploy', text: 'Version 7 is live.', mode: 'now' as const, idempotencyKey: 'delivery-1' };
  const wake = () => app.bus.call('heartbeats.wake', event);
  assert.deepEqual(await wake(), { agents: 1, repeated: false });
  const { context, turnId, idempotencyKey } = await app.turns.next();
  assert.deepEqual(context, [{ title: 'Event from deploy', text: 'Version 7 is live.' }]);
  assert.match(idempotencyKey, /:hook$/);
  app.turns.end(turnId, reply('HEARTBEAT_OK'));
  await waitForState(app, ({ lastOutcome }) => lastOutcome === 'ok');
  assert.deepEqual(await wake(), { agents: 1, repeated: true });
  assert.equal((await app.turns.next()).context, undefined);
  await assert.rejects(app.bus.call('heartbeats.wake', { ...event, agentId: 'nowhere' }), { code: 'FAILED_PRECONDITION' });
});

test('heartbeat.update stores the settings through the registry and returns the effective ones', async () => {
  const writes: Parameters<Handler<'config.write'>>[0][] = [];
  await using app = await testScheduler({ agent: watcher({ target }) });
  await (
    await app.host.connect('registry')
  ).serve(contracts.registry, { 'config.write': (params) => (writes.push(params), { written: true as const }) }, { version: '0.0.0' });
  const { config } = await app.bus.call('heartbeat.update', { agentId: 'default', intervalMs: 0, targetChatId: '9' });
  assert.deepEqual([config['intervalMs'], config['prompt']], [0, 'Look after the disks.']);
  const value = { intervalMs: 0, target: { ...target, chatId: '9' } };
  assert.deepEqual(writes, [{ as: 'heartbeat.update', path: 'agents.default.scheduler.heartbeat', value }]);
  assert.deepEqual(
    app.audited.map(({ method }) => method),
    ['heartbeat.update'],
  );

  await using other = await testScheduler();
  const half = other.bus.call('heartbeat.update', { agentId: 'default', targetChatId: '9' });
  await assert.rejects(half, { code: 'INVALID_ARGUMENT', message: /targetChannelType/ });
});

test('a heartbeat that does not end within staleMs counts as dead', async () => {
  await using app = await testScheduler({ agent: watcher({ staleMs: 300 }) });
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  await app.turns.next();
  const { lastReason } = await waitForState(app, ({ consecutiveErrors }) => consecutiveErrors === 1);
  assert.equal(lastReason, 'the heartbeat did not end within 300 ms');
});

test('a beat whose process ends during its turn is collected by the next process, without a second turn', async () => {
  await using data = await tempDir();
  let key = '';
  {
    await using app = await testScheduler({ data: data.path, agent: watcher() });
    await app.bus.call('heartbeat.trigger', { agentId: 'default' });
    key = (await app.turns.next()).idempotencyKey;
    await waitForState(app, ({ tickStartedAtMs }) => tickStartedAtMs !== null);
  }
  await using app = await testScheduler({ data: data.path, agent: watcher({ staleMs: 1_000 }) });
  const { lastReason } = await waitForState(app, ({ lastOutcome }) => lastOutcome === 'error');
  // The double of the sessions service is new and knows no turn.
  assert.match(lastReason ?? '', /no longer exists/);
  assert.ok(!app.turns.orders.has(key));
});

test('system checks run with a beat, and their alerts reach its turn', async () => {
  const monitoring = { disk: { enabled: true, thresholdPercent: 0 }, resources: { enabled: false }, systemd: { enabled: false } };
  const settings = { monitoring: { ...monitoring, securityUpdates: { enabled: false } } };
  await using app = await testScheduler({ settings, agent: watcher() });
  await app.bus.call('heartbeat.trigger', { agentId: 'default' });
  const { context = [], turnId } = await app.turns.next();
  assert.equal(context[0]?.title, 'System checks');
  assert.match(context[0]?.text ?? '', /^The file system of \/ is \d+ % used; the limit is 0 %\.$/);
  const { checksRun, alertsRaised } = await app.nextEvent('scheduler:heartbeat_check');
  assert.deepEqual([checksRun, alertsRaised], [1, 1]);
  app.turns.end(turnId, reply('HEARTBEAT_OK'));
});
