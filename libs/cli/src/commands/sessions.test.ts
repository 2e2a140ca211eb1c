import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const sessions = (url: string, ...args: string[]) =>
  runCommand(['sessions', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const KEY = 'default:alice:gateway';
const match = {
  sessionKey: KEY,
  agentId: 'default',
  channelType: 'gateway',
  snippet: '…the second\noffer…',
  score: 0.5,
  timestamp: 1763719200000,
};

test('search shows where it was said and what stands around it, and says when that is nowhere', async () => {
  let found: unknown[] = [match];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), found) });
  const shown = await sessions(server.url, 'search', 'second', 'offer', '--limit', '5');
  assert.deepEqual([shown.code, shown.stdout], [0, `${KEY}  2025-11-21T10:00  default  0.50  …the second offer…\n`]);
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['session.search', { query: 'second offer', limit: 5 }]);
  assert.deepEqual(JSON.parse((await sessions(server.url, 'search', 'x', '-o', 'json')).stdout), [match]);
  found = [];
  assert.equal((await sessions(server.url, 'search', 'x')).stderr, 'Nothing like it was said.\n');
});

test('reset clears a conversation, with its memories where that is asked', async () => {
  const calls: Call[] = [];
  const answer = { sessionKey: KEY, lcdRowsDeleted: 2, sessionMessagesCleared: 4 };
  await using server = await startServer({
    call: (call) => (calls.push(call), { ...answer, ...((call.params as { memory: boolean }).memory ? { memoriesDeleted: 3 } : {}) }),
  });
  assert.equal((await sessions(server.url, 'reset', KEY)).stdout, `${KEY}: 4 messages cleared\n`);
  assert.equal((await sessions(server.url, 'reset', KEY, '--memory', 'yes')).stdout, `${KEY}: 4 messages cleared, 3 memories forgotten\n`);
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { session_key: KEY, memory: false },
      { session_key: KEY, memory: true },
    ],
  );
});

test('compact says how much shorter a conversation is told, or that there is nothing to do', async () => {
  let triggered = true;
  const answer = { sessionKey: KEY, messageCount: 120, estimatedTokens: 48_200, instructions: null, messagesAfter: 24, tokensAfter: 9_100 };
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { ...answer, compactionTriggered: triggered }) });
  assert.equal((await sessions(server.url, 'compact', KEY)).stdout, `${KEY}: about 48200 tokens are 9100 now\n`);
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['session.compact', { key: KEY }]);
  triggered = false;
  assert.match((await sessions(server.url, 'compact', KEY)).stderr, /^There is nothing to make shorter/);
});

test('what it cannot do is wrong usage', async () => {
  await using server = await startServer();
  for (const words of [
    [],
    ['burn'],
    ['search'],
    ['reset'],
    ['reset', KEY, KEY],
    ['compact'],
    ['search', 'x', '--limit', 'ten'],
    ['reset', KEY, '--memory', 'maybe'],
  ]) {
    assert.equal((await sessions(server.url, ...words)).code, 2, words.join(' '));
  }
});
