import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

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

test('search prints sessions with snippets, or a note without matches', async () => {
  let found: unknown[] = [match];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), found) });
  const shown = await sessions(server.url, 'search', 'second', 'offer', '--limit', '5');
  assert.deepEqual([shown.code, shown.stdout], [0, `${KEY}  2025-11-21T10:00  default  0.50  …the second offer…\n`]);
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['session.search', { query: 'second offer', limit: 5 }]);
  assert.deepEqual(JSON.parse((await sessions(server.url, 'search', 'x', '-o', 'json')).stdout), [match]);
  found = [];
  assert.equal((await sessions(server.url, 'search', 'x')).stderr, 'No message matches.\n');
});

test('reset clears a conversation, with --memory also its memories', async () => {
  const calls: Call[] = [];
  const answer = { sessionKey: KEY, lcdRowsDeleted: 2, sessionMessagesCleared: 4 };
  await using server = await startServer({
    call: (call) => (calls.push(call), { ...answer, ...((call.params as { memory: boolean }).memory ? { memoriesDeleted: 3 } : {}) }),
  });
  assert.equal((await sessions(server.url, 'reset', KEY)).stdout, `${KEY}: 4 messages cleared\n`);
  assert.equal((await sessions(server.url, 'reset', KEY, '--memory')).stdout, `${KEY}: 4 messages cleared, 3 memories forgotten\n`);
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { session_key: KEY, memory: false },
      { session_key: KEY, memory: true },
    ],
  );
});

test('compact prints tokens before and after', async () => {
  let triggered = true;
  const answer = { sessionKey: KEY, messageCount: 120, estimatedTokens: 48_200, instructions: null, messagesAfter: 24, tokensAfter: 9_100 };
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { ...answer, compactionTriggered: triggered }) });
  assert.equal((await sessions(server.url, 'compact', KEY)).stdout, `${KEY}: compacted from about 48200 to 9100 tokens\n`);
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['session.compact', { key: KEY }]);
  triggered = false;
  assert.match((await sessions(server.url, 'compact', KEY)).stderr, /^Nothing to compact/);
});

test('label sends /label; list prints and filters labels', async () => {
  const calls: Call[] = [];
  const row = {
    sessionKey: KEY,
    agentId: 'default',
    kind: 'dm',
    label: 'Three offers',
    messageCount: 2,
    updatedAt: 1763719200000,
    metadata: {},
  };
  const answers: Record<string, unknown> = {
    'session.send': { response: 'Label of this session: Three offers' },
    'session.list': { sessions: [row], total: 1 },
  };
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  assert.equal((await sessions(server.url, 'label', KEY, 'Three', 'offers')).stdout, 'Label of this session: Three offers\n');
  assert.match(
    (await sessions(server.url, 'list', '--label', 'Three offers')).stdout,
    /default:alice:gateway .* dm .* 2 .*Three offers\n$/,
  );
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { key: KEY, message: '/label Three offers' },
      { label: 'Three offers', limit: 1_000 },
    ],
  );
});

const node = (summaryId: string, more: object = {}) => ({
  summaryId,
  kind: 'leaf',
  depth: 0,
  tokenCount: 1180,
  contentPreview: `About\n${summaryId}.`,
  childIds: [],
  parentIds: [],
  taint: false,
  createdAt: 1763719200000,
  ...more,
});
const tree = {
  conversationId: 'epoch_1',
  messageCount: 8,
  nodes: [
    node('c', { createdAt: 1763719260000, taint: true }),
    node('a', { parentIds: ['ab'] }),
    node('b', { parentIds: ['ab'], createdAt: 1763719230000 }),
    node('ab', { kind: 'condensed', depth: 1, tokenCount: 2000, childIds: ['b', 'a'], createdAt: 1763719250000 }),
  ],
};
const DRAWN = [
  '├─ summary of summaries, 1 deep, 2000 tokens, 2025-11-21T10:00: About ab.',
  '│  ├─ summary, 1180 tokens, 2025-11-21T10:00: About a.',
  '│  └─ summary, 1180 tokens, 2025-11-21T10:00: About b.',
  '├─ summary, 1180 tokens, 2025-11-21T10:01, of untrusted text: About c.',
  '└─ 8 messages, unchanged',
  '',
].join('\n');

test('list prints one line per session and the total', async () => {
  const listed = { sessionKey: KEY, agentId: 'default', messageCount: 2, updatedAt: 1763719200000, metadata: {}, kind: 'dm' };
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { sessions: [listed], total: 3 }) });
  const { stdout, stderr } = await sessions(server.url, 'list', '--kind', 'dm', '--since', '60');
  assert.deepEqual([stdout, stderr], [`${KEY}  2025-11-21T10:00  default  dm  2\n`, 'the newest 1 of 3; --limit shows more\n']);
  assert.deepEqual(calls[0]?.params, { kind: 'dm', since_minutes: 60, limit: 1_000 });
  assert.equal((await sessions(server.url, 'list', '--kind', 'mine')).code, 2);
});

test('list --limit reads as many pages as it needs', async () => {
  const calls: Call[] = [];
  const answer = (call: Call) => {
    calls.push(call);
    const { limit, cursor } = call.params as { limit: number; cursor?: string };
    const listed = { sessionKey: KEY, agentId: 'default', messageCount: 2, updatedAt: 1763719200000, metadata: {}, kind: 'dm' };
    return { sessions: Array.from({ length: limit }, () => listed), total: 5_000, cursor: cursor === undefined ? 'second' : 'third' };
  };
  await using server = await startServer({ call: answer });
  const { stdout } = await sessions(server.url, 'list', '--limit', '1200');
  assert.equal(stdout.split('\n').length - 1, 1_200);
  assert.deepEqual(
    calls.map(({ params }) => params),
    [{ limit: 1_000 }, { limit: 200, cursor: 'second' }],
  );
});

test('show prints the summary tree and the newest messages', async () => {
  const messages = [1, 2, 3].map((n) => ({ role: 'user', content: `number\n${n}`, timestamp: 1763719200000 }));
  const exported = { sessionKey: KEY, messages, metadata: {}, messageCount: 3, createdAt: 1763719200000, updatedAt: 1763719201200 };
  await using server = await startServer({ call: ({ method }) => (method === 'context.tree' ? tree : exported) });
  assert.equal((await sessions(server.url, 'tree', KEY)).stdout, `epoch_1\n${DRAWN}`);
  const { stdout, stderr } = await sessions(server.url, 'show', KEY, '--last', '1');
  assert.ok(stdout.includes(DRAWN) && stdout.endsWith('user  2025-11-21T10:00:00\n  number\n  3\n\n'), stdout);
  assert.ok(!stdout.includes('  2\n') && /2 earlier messages/.test(stderr));
  assert.deepEqual(JSON.parse((await sessions(server.url, 'show', KEY, '--json')).stdout), { session: exported, tree });
});

test('context prints the model input of each step', async () => {
  const told = { messages: 4, chars: 900, turns: { from: 7, to: 8 }, summaries: 2, depth: 1, folded: 12, leftOut: 0, tools: 3 };
  const tool = { name: 'memory_search', args: 'ab12', failed: false, ms: 4, chars: 70, result: 'cd34' };
  const screened = { score: 0.4, risk: 'medium', patterns: ['role_assumption'], shapes: ['mostly_whitespace'] };
  const output = { redacted: ['github_token'], warned: ['jwt'] };
  const steps = [
    { step: 1, ms: 40, firstMs: 12, chars: 0, input: 300, output: 8, tools: [tool], moreTools: 1 },
    { step: 2, ms: 30.4, chars: 25 },
  ];
  const turns = [
    { turnId: 'turn_2', turn: 10, at: 1763719201000 },
    {
      turnId: 'turn_1',
      turn: 9,
      at: 1763719200000,
      evidence: { model: 'openai/gpt-5', told, recalled: { count: 1, chars: 40 }, screened, output, steps },
    },
  ];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { ...tree, turns }) });
  const { stdout } = await sessions(server.url, 'context', KEY, '--limit', '2');
  assert.deepEqual(calls[0]?.params, { conversation_id: KEY, turns: 2 });
  const given = '2 summaries for 12 messages, 1 deep, 4 messages of turns 7 to 8, 1 memories, 3 tools, the question';
  assert.deepEqual(stdout.slice(`epoch_1\n${DRAWN}`.length).split('\n'), [
    '',
    'turn 9  2025-11-21T10:00:00  turn_1  openai/gpt-5',
    '  input screening, medium risk: role_assumption, mostly_whitespace',
    '  removed from the output: github_token',
    '  warnings about the output: jwt',
    `  step 1  given ${given}`,
    '          answered 0 characters of 300 tokens in and 8 out in 40 ms, the first after 12',
    '          called memory_search with ab12: 70 characters in 4 ms, result cd34',
    `  step 2  given ${given}, 2 calls and their results`,
    '          answered 25 characters in 30 ms',
    '',
    'turn 10  2025-11-21T10:00:01  turn_2',
    '  no model call',
    '',
  ]);
});

test('context without a key lists conversations with the next page command', async () => {
  const conversation = {
    conversation_id: 'epoch_1',
    tenant_id: 'default',
    agent_id: 'default',
    session_key: KEY,
    title: null,
    created_at: '2025-11-21T10:00:00.000Z',
    updated_at: '2025-11-21T10:00:01.200Z',
    message_count: 2,
  };
  await using server = await startServer({ call: () => ({ conversations: [conversation], total: 5 }) });
  const { stdout, stderr } = await sessions(server.url, 'context', '--offset', '1');
  assert.equal(stdout, `epoch_1  2025-11-21T10:00  default  2  ${KEY}\n`);
  assert.match(stderr, /2 of 5\. Next page: .* sessions context --offset 2/);
});

test('forget requires --yes and prints the transcript', async () => {
  const transcript = { messages: [], metadata: {}, messageCount: 4 };
  const calls: string[] = [];
  await using server = await startServer({
    call: ({ method }) => {
      calls.push(method);
      return method === 'session.delete'
        ? { sessionKey: KEY, deleted: true, transcript: { ...transcript, messageCount: 0 } }
        : { sessionKey: KEY, lcdRowsDeleted: 0, sessionMessagesCleared: 4, memoriesDeleted: 3, ...transcript };
    },
  });
  const refused = await sessions(server.url, 'forget', KEY);
  assert.deepEqual([refused.code, calls], [1, []]);
  assert.match(refused.stderr, /Confirm with --yes/);
  const { stdout } = await sessions(server.url, 'forget', KEY, '--memory', '--yes');
  assert.equal(stdout, `${KEY}: forgotten, with 4 messages, 3 memories forgotten\n`);
  assert.deepEqual(calls, ['session.export', 'session.reset_conversation', 'session.delete']);
});

test('rejects unknown subcommands and flags', async () => {
  await using server = await startServer();
  for (const words of [
    ['burn'],
    ['search'],
    ['reset'],
    ['reset', KEY, KEY],
    ['compact'],
    ['search', 'x', '--limit', 'ten'],
    ['list', '--memory'],
    ['reset', KEY, '--purge'],
  ]) {
    assert.equal((await sessions(server.url, ...words)).code, 2, words.join(' '));
  }
});
