import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type TestService } from '@switchyard/testkit';
import { getTurnId, listen, testSessions } from '../../sessions.fixture.ts';

const agents = { scripted: { model: 'dev/scripted' } };
const FOREVER = JSON.stringify([{ wait: 60_000 }, { text: 'never' }]);
const NO_USAGE = { calls: 0, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

/** Starts sessions with one model that a test controls. */
async function startWithUpstream(upstream: { url: string }): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm' }] } };
  return testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'local', model: 'm', maxSteps: 5 } } });
}

test('an answer is reported once, with the usage of every model call', async () => {
  await using upstream = await startUpstream();
  upstream.respond({ kind: 'tools', calls: [{ name: 'session_history', arguments: {} }] }, { kind: 'text', text: 'done' });
  await using app = await startWithUpstream(upstream);
  const { tokensUsed } = await app.bus.call('agent.execute', { message: 'hello' });
  const { turnId, state, finishReason, usage, steps, client, sessionKey, ...times } = await app.nextEvent('turn:ended');
  assert.match(turnId, /^turn_/);
  assert.deepEqual([state, finishReason, steps, client, sessionKey], ['done', 'stop', 2, 'test', 'default:test:gateway']);
  assert.deepEqual([usage.calls, usage.unknownCalls, usage.input, usage.output], [2, 0, tokensUsed.input, tokensUsed.output]);
  assert.ok(times.createdAt <= times.finishedAt);
  await app.bus.call('agent.execute', { message: 'again' });
  assert.notEqual((await app.nextEvent('turn:ended')).turnId, turnId);
});

test('a failed turn is reported with the calls before its failure', async () => {
  await using upstream = await startUpstream();
  upstream.respond({ kind: 'tools', calls: [{ name: 'session_history', arguments: {} }] }, { kind: 'status', status: 400 });
  await using app = await startWithUpstream(upstream);
  await assert.rejects(app.bus.call('agent.execute', { message: 'hello' }));
  const { state, failure, usage, steps } = await app.nextEvent('turn:ended');
  assert.equal(state, 'failed');
  assert.ok(failure);
  assert.deepEqual([usage.calls, usage.unknownCalls, usage.input > 0, steps > 0], [2, 1, true, true]);
});

test('cancelled turns are reported, with an unknown call if one was running', async () => {
  await using app = await testSessions({ agents });
  const frames = listen(app.bus, getTurnId('a'));
  await app.bus.call('turns.start', { turnId: getTurnId('a'), agentId: 'scripted', message: FOREVER });
  await frames.until('step');
  await app.bus.call('turns.start', { turnId: getTurnId('b'), agentId: 'scripted', message: FOREVER });
  for (const name of ['b', 'a']) await app.bus.call('agent.cancel', { turnId: getTurnId(name) });
  const [waiting, running] = [await app.nextEvent('turn:ended'), await app.nextEvent('turn:ended')];
  assert.deepEqual(
    [waiting, running].map(({ turnId, state, failure }) => [turnId, state, failure?.code, failure?.reason]),
    ['b', 'a'].map((name) => [getTurnId(name), 'cancelled', 'CANCELLED', 'TURN_CANCELLED']),
  );
  assert.deepEqual(waiting.usage, NO_USAGE);
});

test('a merged turn is reported with the turn that answered it and without usage', async () => {
  await using app = await testSessions({ agents, settings: { queue: { defaultMode: 'collect' } } });
  const start = (name: string, message: string) => app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message });
  const frames = listen(app.bus, getTurnId('a'));
  await start('a', FOREVER);
  await frames.until('step');
  await start('b', JSON.stringify([{ text: 'both' }]));
  await start('c', JSON.stringify([{ text: 'both' }]));
  await app.bus.call('agent.cancel', { turnId: getTurnId('a') });
  const ends = [await app.nextEvent('turn:ended'), await app.nextEvent('turn:ended'), await app.nextEvent('turn:ended')];
  const merged = ends.find(({ turnId }) => turnId === getTurnId('c'));
  assert.deepEqual([merged?.state, merged?.mergedInto, merged?.usage], ['done', getTurnId('b'), NO_USAGE]);
  assert.deepEqual(new Set(ends.map(({ turnId }) => turnId)), new Set(['a', 'b', 'c'].map(getTurnId)));
});

test('a turn that was dropped from a full queue is reported', async () => {
  const queue = { defaultMode: 'followup' as const, defaultOverflow: { maxDepth: 1, policy: 'drop-old' as const } };
  await using app = await testSessions({ agents, settings: { queue, daemon: { shutdownTimeoutMs: 100 } } });
  const frames = listen(app.bus, getTurnId('a'));
  for (const name of ['a', 'b', 'c']) {
    await app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message: FOREVER });
    if (name === 'a') await frames.until('step');
  }
  const { turnId, state, failure } = await app.nextEvent('turn:ended');
  assert.deepEqual([turnId, state, failure?.reason], [getTurnId('b'), 'cancelled', 'TURN_DROPPED']);
});
