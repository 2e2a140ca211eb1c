import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testSessions, getTurnId } from '../../sessions.fixture.ts';

const slow = { agents: { slow: { model: 'dev/slow' } } };

test('agent.start returns before the turn ends, and agent.attach returns its result', async () => {
  await using app = await testSessions(slow);
  const { turnId, sessionKey, state } = await app.bus.call('agent.start', { message: 'hello', agentId: 'slow', sessionKey: 'lobby' });
  assert.deepEqual([sessionKey, state], [`agent:slow:default:test:lobby`, 'queued']);
  const answer = await app.bus.call('agent.attach', { turnId });
  assert.deepEqual([answer.turnId, answer.sessionKey, answer.finishReason], [turnId, sessionKey, 'stop']);
  assert.match(answer.response, /You said: hello/);
  assert.deepEqual(await app.bus.call('agent.attach', { turnId, after: 3 }), answer, 'also after its end');
});

test('agent.start and agent.execute with the same idempotency key run one turn', async () => {
  await using app = await testSessions(slow);
  const request = { message: 'hello', agentId: 'slow', idempotencyKey: 'k1' };
  const { turnId } = await app.bus.call('agent.start', request);
  const { response } = await app.bus.call('agent.execute', request);
  assert.equal((await app.bus.call('agent.start', request)).turnId, turnId);
  assert.equal((await app.bus.call('agent.attach', { turnId })).response, response);
  assert.equal((await app.bus.call('session.list', {})).sessions[0]?.messageCount, 2);
  await assert.rejects(app.bus.call('agent.start', { ...request, message: 'other' }), {
    details: { reason: 'IDEMPOTENCY_MISMATCH', turnId },
  });
});

test('agent.attach returns NOT_FOUND for a turn of another client', async () => {
  await using app = await testSessions(slow);
  const { turnId } = await app.bus.call('agent.start', { message: 'hello', agentId: 'slow' });
  for (const who of [{ client: 'other' }, { tenant: 'elsewhere' }]) {
    await assert.rejects(app.bus.as(principal(who)).call('agent.attach', { turnId }), {
      code: 'NOT_FOUND',
      message: 'Turn not found.',
    });
  }
  await assert.rejects(app.bus.call('agent.attach', { turnId: getTurnId('never') }), { message: 'Turn not found.' });
});
