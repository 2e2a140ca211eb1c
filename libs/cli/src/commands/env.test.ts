import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, input: string | undefined, ...args: string[]) =>
  runCommand(['env', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN }, ...(input === undefined ? {} : { input }) });

test('set reads the value from standard input and does not print it', async () => {
  const calls: Call[] = [];
  const answer = { set: true, key: 'OPENAI_API_KEY', storage: 'encrypted', restarting: true };
  await using server = await startServer({ call: (call) => (calls.push(call), answer) });
  const { code, stdout, stderr } = await run(server.url, 'the value\n', 'set', 'OPENAI_API_KEY');
  assert.deepEqual([code, stdout, stderr], [0, 'OPENAI_API_KEY is set, encrypted, and in effect\n', '']);
  assert.deepEqual(calls[0]?.params, { key: 'OPENAI_API_KEY', value: 'the value' });
  assert.deepEqual(JSON.parse((await run(server.url, 'x', 'set', 'OPENAI_API_KEY', '-o', 'json')).stdout), answer);
  answer.storage = 'envfile';
  assert.match((await run(server.url, 'x', 'set', 'OPENAI_API_KEY')).stdout, /as plain text in a file/);
});

test('list prints names and storage, and the total', async () => {
  const calls: Call[] = [];
  const secrets = [{ name: 'OPENAI_API_KEY', source: 'encrypted', provider: 'openai', updatedAt: 1763719200000 }];
  let answer = { secrets, total: 3, truncated: true };
  await using server = await startServer({ call: (call) => (calls.push(call), answer) });
  const { stdout, stderr } = await run(server.url, undefined, 'list', '*_KEY', '--limit', '1');
  assert.match(stdout, /^OPENAI_API_KEY +encrypted +openai +2025-11-21T10:00\n$/);
  assert.match(stderr, /1 of 3\. Show all with --limit 3/);
  assert.deepEqual(calls[0]?.params, { filter: '*_KEY', limit: 1 });
  answer = { secrets: [], total: 0, truncated: false };
  assert.match((await run(server.url, undefined)).stderr, /No secret/);
});

test('rejects a value on the command line and an empty value', async () => {
  await using server = await startServer();
  for (const words of [['set'], ['set', 'A', 'value'], ['list', 'a', 'b'], ['show'], ['list', '--limit', 'ten']])
    assert.equal((await run(server.url, undefined, ...words)).code, 2, words.join(' '));
  assert.equal((await run(server.url, '\n', 'set', 'A')).code, 2);
});
