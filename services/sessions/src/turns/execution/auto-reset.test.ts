import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '@switchyard/service-kit';
import { principal, type TestService } from '@switchyard/testkit';
import { sessionCollection } from '../../model/session-document.ts';
import { defineSessions } from '../../service.ts';
import { testSessions } from '../../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const HOUR_MS = 3_600_000;
const resetPolicy = { mode: 'idle', idleTimeoutMs: HOUR_MS, resetTriggers: ['Start over '] };
const agents = { default: { session: { resetPolicy } } };

const reply = async ({ bus }: TestService): Promise<string[]> =>
  (await bus.call('session.history', { session_key: KEY })).messages.filter(({ role }) => role === 'user').map(({ content }) => content);

/** As if the last of it was so long ago. */
async function ago({ host }: TestService, ms: number): Promise<void> {
  const store = await host.store('sessions');
  const { sessions } = await store.open({ sessions: sessionCollection });
  await sessions.for(admin).update({ key: KEY }, { set: { updatedAt: Date.now() - ms } });
  await store.close();
}

test('the first turn after the expiry resets the session once and emits the reason', async () => {
  await using app = await testSessions({ as: admin, agents });
  for (const message of ['one', 'two']) await app.bus.call('agent.execute', { message });
  await ago(app, HOUR_MS / 2);
  await app.bus.call('agent.execute', { message: 'three' });
  assert.deepEqual(await reply(app), ['one', 'two', 'three']);
  await ago(app, 2 * HOUR_MS);
  await Promise.all(['four', 'five', 'six'].map((message) => app.bus.call('agent.execute', { message })));
  assert.deepEqual((await reply(app)).toSorted(), ['five', 'four', 'six']);
  assert.equal((await app.nextEvent('session:expired')).reason, 'auto-reset:idle');
  const { messageCount } = (await app.bus.call('session.list', {})).sessions[0] ?? {};
  assert.equal(messageCount, 6);
});

test('a sweep resets an expired session without a message; other sessions stay', async () => {
  const brief = { mode: 'idle', idleTimeoutMs: 150, sweepIntervalMs: 20 };
  await using app = await testSessions({
    as: admin,
    agents: { default: { session: { resetPolicy: brief } }, keeper: {} },
    timing: { pollMs: 10 },
  });
  await using _other = await startService(defineSessions({ pollMs: 10 }), app.host);
  await app.bus.call('agent.execute', { agentId: 'keeper', message: 'kept', sessionKey: { channelId: 'kept' } });
  await app.bus.call('agent.execute', { message: 'one' });
  assert.equal((await app.nextEvent('session:expired')).reason, 'auto-reset:idle');
  assert.deepEqual(await reply(app), []);
  await app.bus.call('agent.execute', { message: 'two' });
  await app.nextEvent('session:expired');
  const { sessions } = await app.bus.call('session.list', {});
  assert.deepEqual(
    sessions.map(({ messageCount }) => messageCount).toSorted((x, y) => x - y),
    [0, 2],
  );
});

test('a session with a turn in progress does not expire', async () => {
  const resetPolicy = { mode: 'idle', idleTimeoutMs: 400, sweepIntervalMs: 10 };
  const agents = { default: { model: 'dev/scripted', session: { resetPolicy } } };
  await using app = await testSessions({ as: admin, agents, timing: { pollMs: 10 } });
  await app.bus.call('agent.execute', { message: '[{"text":"one"}]' });
  const startedAt = performance.now();
  const overAt = app.nextEvent('session:expired').then(() => performance.now());
  const { response } = await app.bus.call('agent.execute', { message: '[{"text":"still "},{"wait":1000},{"text":"here"}]' });
  assert.equal(response, 'still here');
  assert.ok((await overAt) - startedAt >= 1_400);
});

test('a reset phrase of the agent resets the session and is part of neither conversation', async () => {
  await using app = await testSessions({ as: admin, agents });
  await app.bus.call('agent.execute', { message: 'one' });
  const { finishReason } = await app.bus.call('agent.execute', { message: ' start OVER' });
  assert.equal(finishReason, 'session_reset');
  await app.bus.call('agent.execute', { message: 'start over with this' });
  assert.deepEqual(await reply(app), ['start over with this']);
});
