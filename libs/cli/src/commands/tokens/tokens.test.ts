import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { parse } from 'yaml';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, ...words: string[]) => runCommand(['tokens', ...words, '--url', url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

test('list prints scopes, expiry and limits', async () => {
  const tokens = [
    { id: 'env', scopes: ['*'], createdAt: '2025-11-21T09:00:00.000Z', sessions: 'tenant', lenient: false, declared: 'SWITCHYARD_TOKEN' },
    {
      id: 'guest',
      scopes: ['rpc'],
      createdAt: '2025-11-21T09:00:00.000Z',
      sessions: 'own',
      lenient: true,
      agents: ['oslo'],
      budgets: { perHour: 100, perDayUsd: 5 },
      expiresAt: '2026-11-21T09:00:00.000Z',
    },
  ];
  await using server = await startServer({ call: () => ({ tokens }) });
  assert.equal(
    (await run(server.url)).stdout,
    [
      'env    *    2025-11-21T09:00  never             declared in SWITCHYARD_TOKEN',
      'guest  rpc  2025-11-21T09:00  2026-11-21T09:00  its own sessions; agents oslo; 100 tokens an hour, 5 US dollars a day; lenient',
      '',
    ].join('\n'),
  );
});

test('list prints JSON, YAML and NDJSON', async () => {
  const tokens = ['a', 'b'].map((id) => ({
    id,
    scopes: ['rpc'],
    createdAt: '2025-11-21T09:00:00.000Z',
    sessions: 'tenant',
    lenient: false,
  }));
  await using server = await startServer({ call: () => ({ tokens }) });
  const printed = async (form: string) => (await run(server.url, 'list', '-o', form)).stdout;
  assert.deepEqual(JSON.parse(await printed('json')), { tokens });
  assert.deepEqual(parse(await printed('yaml')), { tokens });
  assert.equal(await printed('ndjson'), tokens.map((token) => `${JSON.stringify(token)}\n`).join(''));
});

test('create prints the secret and sends every limit', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { id: 'guest', secret: 'sy_pat_x', scopes: ['rpc'] }) });
  const limits = ['--own', '--lenient', '--agents', 'oslo,default', '--expires', '2099-01-31', '--budget', '200000/hour,5usd/day'];
  const { stdout, stderr } = await run(server.url, 'create', 'guest', ...limits, '--tenant', 'acme');
  assert.deepEqual([stdout, /shown only once/.test(stderr)], ['sy_pat_x\n', true]);
  assert.deepEqual(calls[0]?.params, {
    id: 'guest',
    scopes: ['rpc'],
    sessions: 'own',
    lenient: true,
    agents: ['oslo', 'default'],
    expiresAt: '2099-01-31T00:00:00.000Z',
    budgets: { perHour: 200_000, perDayUsd: 5 },
    tenant: 'acme',
  });
  await run(server.url, 'create', 'editor', '--scopes', 'mcp-client', '--tools', 'agent_default');
  assert.deepEqual(calls[1]?.params, { id: 'editor', scopes: ['mcp-client'], mcpClient: { allowlist: ['agent_default'] } });
});

test('rotate prints the new secret; revoke requires --yes', async () => {
  await using server = await startServer({
    call: ({ method }) =>
      method === 'tokens.rotate' ? { id: 'a', secret: 'sy_pat_y', scopes: ['rpc'], rotated: true } : { id: 'a', revoked: true },
  });
  assert.equal((await run(server.url, 'rotate', 'a')).stdout, 'sy_pat_y\n');
  assert.equal((await run(server.url, 'revoke', 'a')).code, 1);
  assert.equal((await run(server.url, 'revoke', 'a', '--yes')).stdout, 'a is ended\n');
});

test('rejects a past expiry and an invalid budget', async () => {
  await using server = await startServer();
  for (const words of [
    ['create'],
    ['create', 'a', '--expires', '2001-01-01'],
    ['create', 'a', '--expires', 'soon'],
    ['create', 'a', '--budget', '5/week'],
    ['create', 'a', '--budget', '5/day,6/day'],
    ['list', '--own'],
  ])
    assert.equal((await run(server.url, ...words)).code, 2, words.join(' '));
});
