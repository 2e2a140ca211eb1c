import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const memory = (url: string, ...args: string[]) => runCommand(['memory', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const ID = '0193a6f2-7c1e-7d44-9a55-1f0c2b7d3e90';
const entry = {
  id: ID,
  tenantId: 'default',
  agentId: 'default',
  userId: 'alice',
  content: 'Alice prefers\nshort answers.',
  memoryType: 'semantic',
  trustLevel: 'learned',
  source: { who: 'alice', channel: 'telegram' },
  sourceType: 'conversation',
  tags: ['preference'],
  createdAt: 1763719200000,
};
const LINE = `${ID}  2025-11-21T10:00  default  learned  Alice prefers short answers.\n`;

test('list prints a page and the command for the next one', async () => {
  const calls: Call[] = [];
  const page = { entries: [entry], total: 3, offset: 1, limit: 1, hasMore: true };
  await using server = await startServer({ call: (call) => (calls.push(call), page) });
  const { code, stdout, stderr } = await memory(server.url, 'list', '--limit', '1', '--offset', '1', '--agent', 'oslo');
  assert.deepEqual([code, stdout], [0, LINE]);
  assert.match(stderr, /2 of 3\. Next page: .* memory list --offset 2/);
  assert.deepEqual(calls[0]?.params, { limit: 1, offset: 1, agent_id: 'oslo' });
  assert.deepEqual(JSON.parse((await memory(server.url, '-o', 'json')).stdout), page);
});

test('search prints matches with scores, or a note', async () => {
  let results: unknown[] = [{ ...entry, score: 0.5 }];
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { results }) });
  const found = await memory(server.url, 'search', 'short', 'answers', '--limit', '5');
  assert.equal(found.stdout, LINE.replace('learned  ', 'learned  0.50  '));
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['memory.search', { query: 'short answers', limit: 5 }]);
  results = [];
  assert.equal((await memory(server.url, 'search', 'nothing')).stderr, 'No memory matches.\n');
});

test('show prints an entry and fails for an unknown id', async () => {
  let answer: object = { entry };
  await using server = await startServer({ call: () => answer });
  const { stdout } = await memory(server.url, 'show', ID);
  for (const part of [ID, 'alice  telegram', 'preference', '2025-11-21T10:00:00.000Z', entry.content])
    assert.ok(stdout.includes(part), part);
  answer = {};
  const { code, stderr } = await memory(server.url, 'show', ID);
  assert.equal(code, 1);
  assert.match(stderr, /Memory 0193/);
});

test('forget deletes an entry; export prints all', async () => {
  const exported = { entries: [entry], exportedAt: 1, totalEntries: 1 };
  await using server = await startServer({ call: ({ method }) => (method === 'memory.export' ? exported : { id: ID, deleted: true }) });
  assert.equal((await memory(server.url, 'forget', ID)).stdout, `${ID} forgotten\n`);
  assert.deepEqual(JSON.parse((await memory(server.url, 'export')).stdout), exported);
});

test('rejects unknown subcommands', async () => {
  await using server = await startServer();
  for (const words of [['burn'], ['search'], ['show'], ['forget', ID, ID], ['list', 'x'], ['export', 'x'], ['list', '--limit', 'ten']]) {
    assert.equal((await memory(server.url, ...words)).code, 2, words.join(' '));
  }
});
