import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memory } from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { ended, testSessions } from '../../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const agents = { slow: { model: 'dev/slow' }, scripted: { model: 'dev/scripted' } };

test('session.run_status returns the message, the running state and the result', async () => {
  await using app = await testSessions({ as: admin, agents });
  const { turnId } = await app.bus.call('agent.start', { message: 'hello', agentId: 'slow' });
  const before = await app.bus.call('session.run_status', { run_id: turnId });
  assert.match(before.status, /^(queued|running)$/);
  assert.deepEqual([before.runId, before.task, before.agentId, before.response], [turnId, 'hello', 'slow', undefined]);
  const { result } = await ended(app.bus, turnId);
  const after = await app.bus.call('session.run_status', { run_id: turnId });
  assert.deepEqual([after.status, after.endReason, after.finishReason], ['completed', 'completed', 'stop']);
  assert.deepEqual([after.response, after.tokensUsed, after.cost], [result?.response, result?.tokensUsed, { total: 0 }]);
  assert.ok(after.completedAt !== undefined && after.runtimeMs === after.completedAt - after.startedAt);
});

test('session.run_status returns the reason of a failed or cancelled run', async () => {
  await using app = await testSessions({ as: admin, agents });
  const failing = await app.bus.call('agent.start', { message: '[{"error":{"status":400,"message":"no"}}]', agentId: 'scripted' });
  await ended(app.bus, failing.turnId);
  const failed = await app.bus.call('session.run_status', { run_id: failing.turnId });
  assert.deepEqual([failed.status, failed.endReason], ['failed', 'failed']);
  assert.match(failed.error ?? '', /^FAILED_PRECONDITION: .*no/);
  const { turnId } = await app.bus.call('agent.start', { message: '[{"wait":60000}]', agentId: 'scripted' });
  await app.bus.call('agent.cancel', { turnId });
  const killed = await app.bus.call('session.run_status', { run_id: turnId });
  assert.deepEqual([killed.status, killed.endReason], ['failed', 'killed']);
  await assert.rejects(app.bus.call('session.run_status', { run_id: 'run_none' }), { code: 'NOT_FOUND' });
});

test('session.reset_conversation clears a conversation once and returns the counts', async () => {
  await using app = await testSessions({ as: admin });
  for (const message of ['one', 'two']) await app.bus.call('agent.execute', { message });
  assert.deepEqual(await app.bus.call('session.reset_conversation', { session_key: KEY }), {
    sessionKey: KEY,
    lcdRowsDeleted: 2,
    sessionMessagesCleared: 4,
    runtimeSessionDestroyed: true,
  });
  assert.deepEqual((await app.bus.call('session.history', { session_key: KEY })).messages, []);
  const again = await app.bus.call('session.reset_conversation', { session_key: KEY });
  assert.deepEqual([again.lcdRowsDeleted, again.sessionMessagesCleared], [0, 0]);
});

test('session.reset_conversation waits for the running turn', async () => {
  await using app = await testSessions({ as: admin, agents });
  const { turnId, sessionKey } = await app.bus.call('agent.start', { message: '[{"wait":150},{"text":"x"}]', agentId: 'scripted' });
  const { sessionMessagesCleared } = await app.bus.call('session.reset_conversation', { session_key: sessionKey });
  assert.equal(sessionMessagesCleared, 2);
  assert.equal((await ended(app.bus, turnId)).state, 'done');
});

test('session.reset_conversation deletes memories if requested and completes without the memory service', async () => {
  await using app = await testSessions({ as: admin });
  await app.bus.call('agent.execute', { message: 'one' });
  const unreached = await app.bus.call('session.reset_conversation', { session_key: KEY, memory: true });
  assert.deepEqual([unreached.sessionMessagesCleared, unreached.memoriesDeleted], [2, 0]);
  const requests: unknown[] = [];
  const forgetSession = (options: unknown) => (requests.push(options), { forgotten: 3 });
  await (await app.host.connect('memory')).serve(memory, { 'memory.forgetSession': forgetSession }, { version: '0.0.0' });
  const { memoriesDeleted } = await app.bus.call('session.reset_conversation', { session_key: KEY, memory: true });
  assert.deepEqual([memoriesDeleted, requests], [3, [{ sessionKey: KEY, purgeDerived: false }]]);
  await app.bus.call('session.reset_conversation', { session_key: KEY, memory: true, purge_derived: true });
  assert.deepEqual(requests.at(-1), { sessionKey: KEY, purgeDerived: true });
});
