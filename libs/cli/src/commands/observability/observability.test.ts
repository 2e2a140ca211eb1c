import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { publicMethods, type MethodName, type MethodSpec } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, ...args: string[]) => runCommand([...args, '--url', url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

function getExample(method: MethodName): Record<string, unknown> {
  const { examples } = (publicMethods.get(method) ?? assert.fail(method)).spec as MethodSpec;
  return examples[0]?.result as Record<string, unknown>;
}

function getParams(method: MethodName): unknown {
  const { examples } = (publicMethods.get(method) ?? assert.fail(method)).spec as MethodSpec;
  return examples[0]?.params;
}

test('explain names the cause, the next steps and draws the steps', async () => {
  const calls: Call[] = [];
  const waterfall = [
    {
      step: 1,
      startMs: 0,
      durationMs: 100,
      model: 'dev/echo',
      inputTokens: 7,
      outputTokens: 3,
      tools: [{ name: 'web_fetch', durationMs: 40, failed: true }],
    },
    {
      step: 2,
      startMs: 100,
      durationMs: 300,
      model: 'spare/m',
      fallback: true,
      calls: 2,
      retries: 1,
      costUsd: 0.25,
      budget: { leftTokens: 9_000, leftUsd: 0.75, reservedTokens: 1_100 },
      tools: [],
    },
  ];
  await using server = await startServer({ call: (call) => (calls.push(call), { ...getExample('obs.explain'), waterfall }) });
  const { stdout } = await run(server.url, 'explain', 'default:alice:gateway');
  assert.match(stdout, /cause {2,}provider_timeout: web_fetch timed out/);
  assert.match(stdout, /Next steps\n {2}- Raise/);
  assert.match(
    stdout,
    /step {2}1 {2}█{10} {30,}100 ms {2}7 in, 3 out {2}dev\/echo\n {11}web_fetch {2}failed {2}40 ms\n {2}step {2}2 {2} {10}█{30} {2}300 ms {2}\$0\.25 {2}spare\/m {2}fallback {2}2 calls {2}1 retry {2}budget 9000 tokens and \$0\.75 left\n/,
  );
  await run(server.url, 'explain', 'turn_4fT0mUq2Zs8KxY1bNcVdGh', '--full');
  assert.deepEqual(
    calls.map(({ params }) => params),
    [
      { sessionKey: 'default:alice:gateway', depth: 'summary' },
      { traceId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh', depth: 'full' },
    ],
  );
  assert.equal((await run(server.url, 'explain')).code, 2);
});

test('fleet and top show the same report', async () => {
  await using server = await startServer({ call: () => getExample('obs.fleet.health') });
  const { stdout } = await run(server.url, 'fleet');
  assert.match(stdout, /sessions {2}40, 3 ended badly \(7\.5 %\)/);
  assert.match(stdout, /Findings\n {2}config_posture:served_below_configured {2}1/);
  assert.equal((await run(server.url, 'top', '--once')).stdout, stdout);
});

test('trace sends its conditions and prints one line per turn', async () => {
  const calls: Call[] = [];
  const row = {
    ts: '2025-11-21T10:00:00.000Z',
    traceId: 'turn_a',
    agentId: 'oslo',
    state: 'failed',
    durationMs: 1_250,
    lastError: 'POISON',
    sessionKey: 'k',
  };
  await using server = await startServer({ call: (call) => (calls.push(call), { rows: [row] }) });
  const { stdout } = await run(server.url, 'trace', '--since', '7d', '--where', 'error', '--limit', '5', '--synthetic');
  assert.equal(stdout, '2025-11-21T10:00:00  turn_a  oslo  failed  1.3  POISON  k\n');
  assert.deepEqual(calls[0]?.params, { since: '7d', where: 'error', limit: 5, includeSynthetic: true });
});

test('cost prints a table or values for a spreadsheet, and says what is missing', async () => {
  const models = [
    {
      model: 'openai/gpt-5',
      cost: 1.84,
      tokens: 512_000,
      calls: 240,
      inputTokens: 430_000,
      outputTokens: 82_000,
      cacheReadTokens: 1_000,
      unknownCalls: 2,
      unpricedCalls: 0,
      priceSource: { url: 'https://prices.example', checked: '2026-10-03' },
    },
    { model: '=cmd,"x"', cost: 0, tokens: 1, calls: 1 },
  ];
  const provider = {
    provider: 'openai',
    inputTokens: 1,
    outputTokens: 1,
    estimatedCostUsd: 1.84,
    unknownCalls: 2,
    unpricedCalls: 1,
    models,
  };
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { providers: [provider] }) });
  const { stdout, stderr } = await run(server.url, 'cost', '--since', '24h');
  assert.match(stdout, /openai {2}openai\/gpt-5 {2}240 {2}512000 {2}\$1\.84 {2}2026-10-03/);
  assert.match(stderr, /2 calls reported no usage.*\n.*1 calls used models without a list price/);
  assert.deepEqual(calls[0]?.params, { sinceMs: 86_400_000 });
  const csv = await run(server.url, 'cost', '--csv');
  assert.deepEqual(csv.stdout.split('\n'), [
    'provider,model,calls,tokens,cost_usd,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,unknown_calls,unpriced_calls,price_source,price_checked',
    'openai,openai/gpt-5,240,512000,1.84,430000,82000,1000,,2,0,https://prices.example,2026-10-03',
    `openai,"'=cmd,""x""",1,1,0,,,,,,,,`,
    '',
  ]);
  assert.equal((await run(server.url, 'cost', '--since', 'long')).code, 2);
});

test('observations reset shows the counts, requires confirmation and calls the method of the table', async () => {
  const calls: string[] = [];
  const replies: Record<string, unknown> = {
    'obs.billing.total': { totalCost: 1, totalTokens: 2, callCount: 40, totalCacheSaved: 0 },
    'obs.delivery.stats': { total: 3, successes: 3, failures: 0, avgLatencyMs: 1 },
    'obs.diagnostics': { events: [], counts: { change: 5, session: 7 } },
    'obs.channels.all': { channels: [] },
    'obs.reset': { reset: true, rowsDeleted: { tokenUsage: 40, delivery: 3, diagnostics: 12, channels: 0 } },
    'obs.reset.table': { reset: true, table: 'diagnostics', rowsDeleted: 12 },
  };
  await using server = await startServer({ call: ({ method }) => (calls.push(method), replies[method]) });
  const refused = await run(server.url, 'observations', 'reset');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /deletes 40 billed model calls, 3 deliveries, 12 diagnostic events, 0 channels\. Confirm with --yes/);
  assert.ok(!calls.includes('obs.reset'));
  assert.equal((await run(server.url, 'observations', 'reset', '--yes')).stdout, '55 rows deleted\n');
  assert.equal((await run(server.url, 'observations', 'reset', 'diagnostics', '--yes')).stdout, '12 rows deleted\n');
  assert.equal((await run(server.url, 'observations', 'reset', 'everything', '--yes')).code, 2);
  assert.match((await run(server.url, 'observations')).stdout, /diagnostics {2,}12/);
});

test('replay records a turn into a folder and fails for a recording that differs', async () => {
  await using directory = await tempDir();
  const dir = join(directory.path, 'turns');
  const { recording } = getParams('obs.replay') as { recording: { turnId: string; message: string } };
  const difference = { step: 0, field: 'tools.web_fetch', expected: '9f2c1e7ab04d', received: 'not offered' };
  await using server = await startServer({
    call: ({ params }) => {
      const supplied = params['recording'] as typeof recording | undefined;
      const differs = supplied?.message === 'changed';
      return { traceId: recording.turnId, steps: 1, difference: differs ? difference : null, ...(supplied ? {} : { recording }) };
    },
  });
  assert.equal((await run(server.url, 'replay', dir)).code, 2);
  assert.equal((await run(server.url, 'replay', dir, '--record', recording.turnId)).code, 0);
  const equal = await run(server.url, 'replay', dir);
  assert.deepEqual([equal.code, /turn_\w+\.json {2}equal/.test(equal.stdout)], [0, true]);
  writeFileSync(join(dir, 'other.json'), JSON.stringify({ ...recording, message: 'changed' }));
  const { code, stdout, stderr } = await run(server.url, 'replay', dir);
  assert.equal(code, 1);
  assert.match(stdout, /other\.json {2,}step 0, tools\.web_fetch: expected 9f2c1e7ab04d, got not offered/);
  assert.match(stderr, /1 of 2 recorded turns differ/);
});

test('bundle writes its files into a folder and never outside of it', async () => {
  await using directory = await tempDir();
  const example = getExample('obs.bundle');
  const files = [
    { name: 'manifest.json', content: '{}', sha256: 'a' },
    { name: '../outside.txt', content: 'x', sha256: 'b' },
  ];
  await using server = await startServer({ call: () => ({ ...example, files }) });
  const dir = join(directory.path, 'incident');
  assert.equal((await run(server.url, 'bundle', 'default:alice:gateway', '--out', dir)).code, 0);
  assert.deepEqual(readdirSync(dir).toSorted(), ['manifest.json', 'outside.txt']);
});
