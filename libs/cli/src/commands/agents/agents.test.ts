import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, ...words: string[]) => runCommand([...words, '--url', url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const config = { name: 'Oslo', provider: 'openai', model: 'gpt-5', maxSteps: 40, session: { resetPolicy: { mode: 'idle' } } };
const agent = { agentId: 'oslo', config, suspended: true, isDefault: false };

/** Starts a server with registry responses by method and records all calls. */
async function served(answers: Record<string, unknown>) {
  const calls: [string, Record<string, unknown>][] = [];
  const server = await startServer({ call: ({ method, params }: Call) => (calls.push([method, params]), answers[method]) });
  return { url: server.url, calls, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('list prints a table; show prints changed settings', async () => {
  await using server = await served({ 'agents.list': { agents: ['oslo'] }, 'agents.get': agent });
  assert.equal((await run(server.url, 'agents')).stdout, 'oslo  suspended  openai  gpt-5  40  Oslo\n');
  assert.deepEqual(JSON.parse((await run(server.url, 'agents', 'list', '--json')).stdout), { agents: [agent] });
  const { stdout } = await run(server.url, 'agents', 'show', 'oslo');
  assert.match(stdout, /^agent {2}oslo\nstate {2}suspended\n\n/);
  for (const line of [/^maxSteps +40$/m, /^session\.resetPolicy\.mode +idle$/m]) assert.match(stdout, line);
});

test('create and update send settings and report those without effect', async () => {
  await using server = await served({
    'agents.create': { agentId: 'oslo', config, created: true, notInForce: ['tracing'] },
    'agents.update': { agentId: 'oslo', dryRun: true, valid: false, errors: ['provider: no credential for x'] },
  });
  const made = await run(server.url, 'agents', 'create', 'Oslo', '--model', 'gpt-5', 'maxSteps=40', 'rag.enabled=true');
  assert.deepEqual([made.stdout, made.stderr], ['Created agent oslo. It accepts messages now.\n', 'No service uses tracing yet.\n']);
  const checked = await run(server.url, 'agents', 'update', 'oslo', '--provider', 'x', '--dry-run');
  assert.deepEqual([checked.code, /The change is invalid: provider: no credential for x\./.test(checked.stderr)], [1, true]);
  assert.deepEqual(server.calls, [
    ['agents.create', { maxSteps: 40, rag: { enabled: true }, model: 'gpt-5', name: 'Oslo' }],
    ['agents.update', { provider: 'x', agentId: 'oslo', dryRun: true }],
  ]);
  assert.equal((await run(server.url, 'agents', 'update', 'oslo')).code, 2);
});

test('suspend, resume and delete print the outcome; delete requires --yes', async () => {
  await using server = await served({
    'agents.suspend': { agentId: 'oslo', suspended: true },
    'agents.resume': { agentId: 'oslo', resumed: true },
    'agents.delete': { agentId: 'oslo', deleted: true },
  });
  assert.match((await run(server.url, 'agents', 'suspend', 'oslo')).stdout, /new messages are refused/);
  assert.match((await run(server.url, 'agents', 'resume', 'oslo')).stdout, /accepts messages again/);
  assert.equal((await run(server.url, 'agents', 'delete', 'oslo')).code, 1);
  assert.match((await run(server.url, 'agents', 'delete', 'oslo', '--yes')).stdout, /oslo is removed/);
  assert.deepEqual(
    server.calls.map(([method]) => method),
    ['agents.suspend', 'agents.resume', 'agents.delete'],
  );
});

test('models prints operation models, the catalogue and a failed test with exit code 1', async () => {
  const operation = {
    operationType: 'heartbeat',
    model: 'nano',
    provider: 'openai',
    source: 'default',
    timeoutMs: 60_000,
    apiKeyConfigured: true,
  };
  const entry = {
    provider: 'openai',
    modelId: 'gpt-5',
    displayName: 'GPT-5',
    contextWindow: 400_000,
    maxTokens: 8_192,
    cost: { input: 1.25, output: 10 },
    validatedAt: null,
  };
  await using server = await served({
    'agent.getOperationModels': { agentId: 'oslo', primaryModel: 'gpt-5', providerFamily: 'openai', operations: [operation] },
    'models.list': [entry],
    'models.list_providers': { providers: ['openai'], count: 1 },
    'models.test': { ok: false, latencyMs: 3, provider: 'openai', error: 'no key is set for openai' },
    'agents.update': { agentId: 'oslo', config, updated: true },
  });
  assert.equal((await run(server.url, 'agents', 'models', 'oslo')).stdout, 'heartbeat  openai  nano  default  60 s  key is set\n');
  assert.equal((await run(server.url, 'models')).stdout, 'openai  gpt-5  400k  8192  1.25  10    GPT-5\n');
  assert.equal((await run(server.url, 'models', 'providers')).stdout, 'openai\n');
  const tried = await run(server.url, 'models', 'test', 'gpt-5');
  assert.deepEqual([tried.code, /gpt-5 of openai does not answer: no key is set for openai\./.test(tried.stderr)], [1, true]);
  assert.match((await run(server.url, 'models', 'set', 'oslo', 'gpt-5')).stdout, /oslo uses gpt-5/);
  assert.deepEqual(server.calls.at(-1), ['agents.update', { agentId: 'oslo', model: 'gpt-5' }]);
});
