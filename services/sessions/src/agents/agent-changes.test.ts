import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listen, putAgent, removeAgent, testSessions, getTurnId } from '../sessions.fixture.ts';

test('suspending an agent lets its running turn finish and starts no new one', async () => {
  await using app = await testSessions({ agents: { slow: { model: 'dev/slow' } } });
  const turnId = getTurnId('running');
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'slow', message: 'one two three' });
  await received.until('delta');
  await putAgent(app.host.bus, 'slow', { config: { model: 'dev/slow' }, suspended: true });
  await app.bus.flush();
  await assert.rejects(app.bus.call('agent.execute', { agentId: 'slow', message: 'hello' }), {
    code: 'FAILED_PRECONDITION',
    details: { reason: 'AGENT_SUSPENDED' },
  });
  const frames = await received.until('done');
  assert.equal(frames.at(-1)?.type, 'done');
});

test('sessions of a deleted agent can be read and accept no turn', async () => {
  await using app = await testSessions({ agents: { oslo: {} } });
  await app.bus.call('agent.execute', { agentId: 'oslo', message: 'hello' });
  await removeAgent(app.host.bus, 'oslo');
  const [session] = (await app.bus.call('session.list', {})).sessions;
  const session_key = session?.sessionKey ?? '';
  assert.equal(session?.agentId, 'oslo');
  assert.equal((await app.bus.call('session.history', { session_key })).messages.length, 2);
  await assert.rejects(app.bus.call('agent.execute', { agentId: 'oslo', message: 'again' }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(app.bus.call('session.send', { key: session_key, message: 'again' }), { code: 'FAILED_PRECONDITION' });
  assert.equal((await app.bus.call('session.history', { session_key })).messages.length, 2);
});
