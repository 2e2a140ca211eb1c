import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testSessions, getTurnId } from '../../sessions.fixture.ts';

const alice = principal({ client: 'alice', scopes: ['*'] });
const KEY = 'default:alice:gateway';

test('session.list returns sessions newest first and filters by kind and age', async () => {
  await using app = await testSessions({ as: alice });
  await app.bus.call('agent.execute', { message: 'first' });
  await app.bus.call('agent.execute', { message: 'in a group', sessionKey: { guildId: 'g', channelId: 'chat' } });
  const listed = await app.bus.call('session.list', {});
  assert.deepEqual(
    listed.sessions.map(({ sessionKey, kind, messageCount }) => ({ sessionKey, kind, messageCount })),
    [
      { sessionKey: 'default:alice:chat:guild:g', kind: 'group', messageCount: 2 },
      { sessionKey: KEY, kind: 'dm', messageCount: 2 },
    ],
  );
  assert.equal(listed.total, 2);
  assert.equal((await app.bus.call('session.list', { kind: 'group' })).sessions.length, 1);
  assert.equal((await app.bus.call('session.list', { kind: 'sub-agent' })).sessions.length, 0);
  assert.equal((await app.bus.call('session.list', { since_minutes: 5 })).sessions.length, 2);
});

test('session.list returns pages, and each session once', async () => {
  await using app = await testSessions({ as: alice });
  const keys = ['a', 'b', 'c', 'd', 'e'].map((name) => `default:alice:${name}`);
  for (const key of keys) await app.bus.call('session.send', { key, message: 'hello' });
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await app.bus.call('session.list', { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    assert.ok(page.sessions.length <= 2);
    assert.equal(page.total, 5);
    seen.push(...page.sessions.map(({ sessionKey }) => sessionKey));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assert.deepEqual(seen.toSorted(), keys);
  await assert.rejects(app.bus.call('session.list', { cursor: 'no cursor' }), { code: 'INVALID_ARGUMENT', message: /cursor/ });
  await assert.rejects(app.bus.call('session.list', { limit: 0 }), { code: 'INVALID_ARGUMENT', message: /limit/ });
});

test('session.export returns all messages, and session.delete leaves only its transcript', async () => {
  await using app = await testSessions({ as: alice });
  await app.bus.call('agent.execute', { message: 'keep this' });
  const exported = await app.bus.call('session.export', { session_key: KEY });
  assert.deepEqual([exported.sessionKey, exported.messageCount, exported.messages.length], [KEY, 2, 2]);
  const deleted = await app.bus.call('session.delete', { session_key: KEY });
  assert.deepEqual(deleted.transcript.messages, exported.messages);
  await assert.rejects(app.bus.call('session.export', { session_key: KEY }), { code: 'NOT_FOUND' });
  assert.deepEqual(await app.bus.call('session.history', {}), { messages: [] });
});

test('session.reset empties the session and keeps its identity', async () => {
  await using app = await testSessions({ as: alice });
  await app.bus.call('agent.execute', { message: 'forget this' });
  assert.deepEqual(await app.bus.call('session.reset', { session_key: KEY }), { sessionKey: KEY, reset: true, previousMessageCount: 2 });
  assert.equal((await app.nextEvent('session:expired')).reason, 'operator-reset');
  assert.deepEqual(await app.bus.call('session.history', { session_key: KEY }), { messages: [] });
  const { response } = await app.bus.call('agent.execute', { message: 'hello' });
  assert.match(response, /hello/);
  assert.equal((await app.bus.call('session.export', { session_key: KEY })).messageCount, 2);
});

test('session.reset rejects a session with a running turn', async () => {
  await using app = await testSessions({ as: alice, agents: { slow: { model: 'dev/slow' } } });
  await app.bus.call('turns.start', { turnId: getTurnId('busy'), agentId: 'slow', message: 'hold on' });
  const session_key = `agent:slow:${KEY}`;
  for (const method of ['session.reset', 'session.delete'] as const) {
    await assert.rejects(app.bus.call(method, { session_key }), {
      code: 'FAILED_PRECONDITION',
      details: { reason: 'SESSION_BUSY', retryable: true },
    });
  }
});

test('session.send continues the session of a key and rejects a key of another tenant', async () => {
  await using app = await testSessions({ as: alice });
  const answer = await app.bus.call('session.send', { key: 'default:dora:telegram', message: 'hello' });
  assert.equal(answer.sessionKey, 'default:dora:telegram');
  await app.bus.call('session.send', { key: 'default:dora:telegram', message: 'again' });
  assert.equal((await app.bus.call('session.history', { session_key: 'default:dora:telegram' })).messages.length, 4);
  const elsewhere = app.bus.as(principal({ tenant: 'acme', scopes: ['*'] }));
  for (const call of [
    () => app.bus.call('session.send', { key: 'acme:x:y', message: 'hello' }),
    () => elsewhere.call('session.export', { session_key: 'default:dora:telegram' }),
    () => elsewhere.call('session.history', { session_key: 'default:dora:telegram' }),
  ]) {
    await assert.rejects(call, { code: 'NOT_FOUND' });
  }
});

test('session.history without a key returns the newest own session of the client, in one channel or in all', async () => {
  await using app = await testSessions({ as: alice });
  await app.bus.call('agent.execute', { message: 'from alice' });
  const bob = app.bus.as(principal({ client: 'bob', scopes: ['*'] }));
  const first = async (bus: typeof bob, channelId?: string) =>
    (await bus.call('session.history', channelId === undefined ? {} : { channelId })).messages[0]?.content;
  assert.equal(await first(bob, 'gateway'), undefined);
  await bob.call('session.send', { key: KEY, message: 'said by bob to alice' });
  assert.equal(await first(bob, 'gateway'), undefined, 'a session that alice made is hers');
  await bob.call('agent.execute', { message: 'from bob' });
  await bob.call('agent.execute', { message: 'from bob, elsewhere', sessionKey: { channelId: 'phone' } });
  assert.deepEqual(
    [await first(bob, 'gateway'), await first(bob, 'phone'), await first(bob)],
    ['from bob', 'from bob, elsewhere', 'from bob, elsewhere'],
  );
  assert.equal(await first(app.bus), 'from alice');
  assert.equal(await first(app.bus.as(principal({ tenant: 'acme' }))), undefined);
});

test('session.status returns the newest own session in any channel, and the session of the turn within a turn', async () => {
  const agents = { default: { name: 'Ada' }, tools: { name: 'Tom', model: 'dev/tools' }, third: { name: 'Tim', model: 'dev/tools' } };
  await using app = await testSessions({ as: alice, agents });
  const named = async () => (await app.bus.call('session.status', {})).agentName;
  await app.bus.call('agent.execute', { agentId: 'tools', message: 'which?', sessionKey: { channelId: 'phone' } });
  assert.equal(await named(), 'Tom');
  assert.equal((await app.bus.call('session.status', {})).model, 'dev/tools');
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.equal(await named(), 'Ada');
  const { response } = await app.bus.call('agent.execute', { agentId: 'tools', message: 'session_status {}' });
  assert.match(response, /"agentName":"Tom","tokensUsed":\{"totalTokens":0,/);
  const sent = await app.bus.call('session.send', { key: `agent:tools:${KEY}`, agentId: 'third', message: 'session_status {}' });
  assert.match(sent.response, /"agentName":"Tim","tokensUsed":\{"totalTokens":[1-9]/, 'a turn of Tim in a session of Tom');
});

test('session.status returns the model and the usage of the session', async () => {
  await using app = await testSessions({ as: alice, agents: { default: { name: 'Ada', maxSteps: 7 } } });
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.deepEqual(await app.bus.call('session.status', {}), {
    model: 'dev/echo',
    agentName: 'Ada',
    tokensUsed: { totalTokens: 10, totalCost: 0 },
    stepsExecuted: 1,
    maxSteps: 7,
  });
});
