import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { messageCollection, sessionCollection, type SessionDocument } from './data.ts';
import { testSessions } from './sessions.fixture.ts';

const KEY = 'default:test:gateway';

function session(key: string, at: number, fields: Partial<SessionDocument> = {}): SessionDocument {
  const counts = { messageCount: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, lastSteps: 0, nextTurnSeq: 0 };
  const times = { createdAt: at, updatedAt: at, activeSince: at };
  return {
    key,
    agentId: 'default',
    userId: 'test',
    channelId: 'gateway',
    kind: 'dm',
    activeTurn: null,
    metadata: {},
    ...counts,
    ...times,
    ...fields,
  };
}

async function fill(data: string, sessions: readonly SessionDocument[], contents: readonly string[]): Promise<void> {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({ sessions: sessionCollection, messages: messageCollection });
  const mine = { tenant: 'default' };
  await Promise.all([
    ...sessions.map((one) => opened.sessions.for(mine).insert(one)),
    ...contents.map((content, seq) =>
      opened.messages.for(mine).insert({
        id: `m${seq}`,
        sessionKey: KEY,
        turnId: `t${seq >> 1}`,
        seq,
        role: seq % 2 === 0 ? 'user' : 'assistant',
        content,
        timestamp: seq,
      }),
    ),
  ]);
  await store.close();
}

test('of more than a thousand sessions the newest are listed, and every kind has its own count', async () => {
  await using data = await tempDir();
  const dms = Array.from({ length: 1_200 }, (_, at) => session(`default:u${at}:gateway`, 1_000 + at));
  const groups = Array.from({ length: 3 }, (_, at) => session(`default:u:gateway:guild:g${at}`, at, { kind: 'group', guildId: `g${at}` }));
  await fill(data.path, [...dms, ...groups], []);
  await using app = await testSessions({ data: data.path });
  const all = await app.bus.call('session.list', {});
  assert.deepEqual([all.sessions.length, all.total, all.sessions[0]?.sessionKey], [1_000, 1_203, 'default:u1199:gateway']);
  const listed = await app.bus.call('session.list', { kind: 'group' });
  assert.deepEqual([listed.sessions.length, listed.total], [3, 3]);
  const dm = await app.bus.call('session.list', { kind: 'dm' });
  assert.deepEqual([dm.sessions.length, dm.total], [1_000, 1_200]);
});

test('a client’s own session is found beside any number of newer ones of others', async () => {
  await using data = await tempDir();
  const others = Array.from({ length: 1_200 }, (_, at) => session(`default:u${at}:gateway`, 1_000 + at, { createdBy: `u${at}` }));
  await fill(data.path, [session(KEY, 1, { createdBy: 'test', messageCount: 2, inputTokens: 7 }), ...others], ['mine', 'yours']);
  await using app = await testSessions({ data: data.path });
  for (const params of [{}, { channelId: 'gateway' }])
    assert.equal((await app.bus.call('session.history', params)).messages[0]?.content, 'mine');
  assert.equal((await app.bus.call('session.status', {})).tokensUsed.totalTokens, 7);
});

test('a history of more than a thousand messages is whole and in order', async () => {
  await using data = await tempDir();
  await fill(
    data.path,
    [session(KEY, 1, { messageCount: 2_500 })],
    Array.from({ length: 2_500 }, (_, seq) => `message ${seq}`),
  );
  await using app = await testSessions({ data: data.path });
  const { messages } = await app.bus.call('session.history', { session_key: KEY });
  assert.deepEqual(
    messages.map(({ content }) => content),
    Array.from({ length: 2_500 }, (_, seq) => `message ${seq}`),
  );
  assert.equal((await app.bus.call('session.delete', { session_key: KEY })).transcript.messageCount, 2_500);
});

test('a transcript that no answer can carry is not thrown away with its session', async () => {
  await using data = await tempDir();
  await fill(
    data.path,
    [session(KEY, 1, { messageCount: 10 })],
    Array.from({ length: 10 }, () => 'x'.repeat(1_000_000)),
  );
  await using app = await testSessions({ data: data.path });
  await assert.rejects(app.bus.call('session.delete', { session_key: KEY }), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await app.bus.call('session.reset', { session_key: KEY }), { sessionKey: KEY, reset: true, previousMessageCount: 10 });
  assert.equal((await app.bus.call('session.delete', { session_key: KEY })).deleted, true);
});
