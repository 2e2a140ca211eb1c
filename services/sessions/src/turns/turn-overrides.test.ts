import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  sendMessage,
  isRunning,
  settled,
  getPromptMessages,
  getTurn,
  twoReplicas,
  waitUntil,
} from '../simulation/event-delivery.fixture.ts';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const agents = { echo: { model: 'dev/echo' }, strict: { model: 'dev/echo', modelFailover: { allowedModels: ['dev/echo'] } } };
const script = (...steps: object[]): string => JSON.stringify(steps);

test('a model named by the turn overrides those of agent and session', async () => {
  await using app = await testSessions({ agents });
  const start = (name: string, more: object) =>
    app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'echo', message: 'hi', ...more });
  const received = listen(app.bus, getTurnId('named'));
  await start('chosen', { message: '/model switch dev slow' });
  await ended(app.bus, getTurnId('chosen'));
  await start('named', { model: 'dev/scripted', message: script({ text: 'by the script' }) });
  const [accepted] = await received.until('done');
  assert.equal(accepted?.type === 'accepted' && accepted.model, 'dev/scripted');
  assert.equal((await ended(app.bus, getTurnId('named'))).result?.response, 'by the script');
});

test('rejects a forbidden or unknown model before anything is stored', async () => {
  await using app = await testSessions({ agents });
  const start = (agentId: string, model: string) =>
    app.bus.call('turns.start', { turnId: getTurnId('refused'), agentId, message: 'hi', model });
  for (const [agentId, model, reason] of [
    ['strict', 'dev/slow', 'MODEL_NOT_ALLOWED'],
    ['echo', 'nobody/knows', 'MODEL_NOT_FOUND'],
  ] as const) {
    await assert.rejects(start(agentId, model), (error: { code?: string; details?: { reason?: string } }) => {
      assert.deepEqual([error.code, error.details?.reason], ['FAILED_PRECONDITION', reason]);
      return true;
    });
  }
  await assert.rejects(app.bus.call('turns.resume', { turnId: getTurnId('refused') }), { code: 'NOT_FOUND' });
  assert.equal((await start('strict', 'dev/echo')).state !== 'failed', true);
});

test('the same key with another model is a different request', async () => {
  await using app = await testSessions({ agents });
  const start = (name: string, more: object) =>
    app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'echo', message: 'hi', idempotencyKey: 'k', ...more });
  const { turnId } = await start('one', { model: 'dev/echo' });
  assert.equal((await start('two', { model: 'dev/echo' })).turnId, turnId);
  await assert.rejects(start('three', { model: 'dev/slow' }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(start('four', {}), { code: 'INVALID_ARGUMENT' });
});

test('ends a turn with TURN_TIMEOUT after its timeoutMs', async () => {
  await using app = await testSessions({ agents });
  const turnId = getTurnId('late');
  await app.bus.call('turns.start', { turnId, agentId: 'echo', model: 'dev/scripted', message: script({ wait: 60_000 }), timeoutMs: 50 });
  const { failure } = await ended(app.bus, turnId);
  assert.deepEqual(
    [failure?.code, failure?.details?.['reason'], failure?.message],
    ['DEADLINE_EXCEEDED', 'TURN_TIMEOUT', 'The turn exceeded its time limit of 0.05 seconds.'],
  );
});

test('timeoutMs counts from the first start, across runners', async () => {
  for (const [timeoutMs, state] of [
    [6_000, 'failed'],
    [60_000, 'done'],
  ] as const) {
    const { world, first } = await twoReplicas();
    await getPromptMessages(world, sendMessage(first, 'a', { pieces: 3, pace: 1_000, timeoutMs }));
    await waitUntil(world, isRunning(world, 'a'));
    const killedAt = world.simulation.now();
    first.process.kill();
    await settled(world);
    const turn = getTurn(world, 'a');
    assert.deepEqual([turn.state, turn.attempts], [state, 2]);
    assert.ok((turn.startedAt ?? Infinity) <= killedAt, 'it began before');
  }
});

test('does not merge a turn that names a model', async () => {
  await using app = await testSessions({
    agents: { scripted: { model: 'dev/scripted' } },
    settings: { queue: { defaultMode: 'collect' } },
  });
  const start = (name: string, message: string, more: object = {}) =>
    app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message, ...more });
  await start('before', script({ wait: 60_000 }));
  await start('one', script({ text: 'of one' }));
  await start('other', 'two', { model: 'dev/echo' });
  await app.bus.call('agent.cancel', { turnId: getTurnId('before') });
  assert.equal((await ended(app.bus, getTurnId('one'))).result?.response, 'of one');
  assert.match((await ended(app.bus, getTurnId('other'))).result?.response ?? '', /You said: two/);
});
