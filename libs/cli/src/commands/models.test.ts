import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, ...words: string[]) => runCommand(['models', ...words, '--url', url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const entry = {
  provider: 'local',
  modelId: 'small',
  displayName: 'Small',
  contextWindow: 131_072,
  maxTokens: 4_096,
  baseUrl: 'http://127.0.0.1:9',
  input: ['text'],
  reasoning: false,
  cost: { input: 1, output: 2.5, cacheRead: 0, cacheWrite: 0 },
  validated: true,
  validatedAt: Date.UTC(2026, 10, 20),
};

test('list prints prices and limits, optionally of one provider', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), [entry]) });
  assert.equal((await run(server.url, 'list', 'local')).stdout, 'local  small  131k  4096  1  2.5  2026-11-20  Small\n');
  assert.deepEqual([calls[0]?.method, calls[0]?.params], ['models.list', { provider: 'local' }]);
  assert.equal((await run(server.url, 'list', '-o', 'ndjson')).stdout, `${JSON.stringify(entry)}\n`);
});

test('providers prints one line per provider', async () => {
  await using server = await startServer({ call: () => ({ providers: ['local', 'openai'], count: 2 }) });
  assert.equal((await run(server.url, 'providers')).stdout, 'local\nopenai\n');
});

test('test exits with 1 and prints the reason without a response', async () => {
  const message = { provider: 'local', model: 'small', latencyMs: 12 };
  const calls: Call[] = [];
  await using server = await startServer({
    call: (call) => (calls.push(call), calls.length === 1 ? { ...message, ok: true } : { ...message, ok: false, error: 'it is asleep' }),
  });
  assert.deepEqual(await run(server.url, 'test', 'small', '--provider', 'local'), {
    code: 0,
    stdout: 'small of local answers, in 12 ms\n',
    stderr: '',
  });
  assert.deepEqual(calls[0]?.params, { model: 'small', provider: 'local' });
  const { code, stderr } = await run(server.url, 'test', 'small');
  assert.equal(code, 1);
  assert.match(stderr, /small of local does not answer: it is asleep\.\n/);
});

test('set assigns a model to an agent', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { agentId: 'oslo', config: {}, updated: true }) });
  assert.match((await run(server.url, 'set', 'oslo', 'small', '--provider', 'local')).stdout, /^Agent oslo uses small/);
  assert.deepEqual(calls[0], { ...calls[0], method: 'agents.update', params: { agentId: 'oslo', model: 'small', provider: 'local' } });
});
