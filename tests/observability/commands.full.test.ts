import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startUpstream, tempDir } from '@switchyard/testkit';
import { command, startEmbedded, type Running } from '../e2e/embedded.ts';
import { call } from '../e2e/exchange.ts';
import { waitUntil } from './observed-sessions.ts';

const USAGE = { prompt: 1_000, completion: 100 };
/** USD per million tokens. */
const COST = { input: 2, output: 10 };
const CALLS = 3;
const COST_USD = (CALLS * (USAGE.prompt * COST.input + USAGE.completion * COST.output)) / 1e6;

async function run(product: Running, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(product, ...words);
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return stdout;
}

/** Records a turn into a folder and replays the folder, before and after the recording is changed. */
async function replayFolder(product: Running, turnId: string): Promise<void> {
  await using directory = await tempDir();
  const dir = join(directory.path, 'turns');
  await run(product, 'replay', dir, '--record', turnId);
  assert.match(await run(product, 'replay', dir), /turn_\w+\.json +equal/);
  const file = join(dir, `${turnId}.json`);
  const recording = JSON.parse(readFileSync(file, 'utf8')) as { tools: object[] };
  writeFileSync(file, JSON.stringify({ ...recording, tools: [...recording.tools, { name: 'old_tool', digest: '000000000000' }] }));
  const { code, stdout, stderr } = await command(product, 'replay', dir);
  assert.equal(code, 1);
  assert.match(stdout, /step 0, tools\.old_tool: expected 000000000000, got not offered/);
  assert.match(stderr, /1 of 1 recorded turns differ/);
}

test('explain, fleet, top, trace, cost and replay report the turns of a running server', { timeout: 300_000 }, async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: USAGE });
  const local = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm', cost: COST }] };
  const agent = { provider: 'local', model: 'm', sdkRetry: { enabled: false, maxRetries: 0 } };
  await using product = await startEmbedded({ config: { providers: { entries: { local } }, agents: { default: agent } } });
  const send = (channelId: string) => call(product, 'agent.execute', { message: 'hello', sessionKey: { channelId } });
  for (const channelId of ['one', 'two', 'three']) await send(channelId);
  upstream.respond({ kind: 'status', status: 429 });
  await assert.rejects(send('limited'));
  const failed = `default:${product.client}:limited`;
  await waitUntil(async () => (await run(product, 'explain', failed)).includes('cause'), 'the failed turn');

  const explained = await run(product, 'explain', failed);
  assert.match(explained, /cause +provider_rate_limited: .*\n/);
  assert.match(explained, /Next steps\n {2}- Raise the limit at the provider/);
  const csv = (await run(product, 'cost', '--csv')).split('\n');
  const cells = csv[1]?.split(',') ?? [];
  const invoice = Object.fromEntries((csv[0]?.split(',') ?? []).map((column, at) => [column, cells[at]]));
  assert.deepEqual([invoice['provider'], invoice['model']], ['local', 'local/m']);
  const expected = {
    calls: upstream.requests.length,
    input_tokens: CALLS * USAGE.prompt,
    output_tokens: CALLS * USAGE.completion,
    unknown_calls: 1,
    cost_usd: COST_USD,
  };
  for (const [column, value] of Object.entries(expected)) assert.equal(Number(invoice[column]), value, column);
  assert.match(await run(product, 'cost', '--since', '1h'), /local +local\/m +4 +3300 +\$/);
  const top = await run(product, 'top', '--once');
  assert.match(top, /sessions +4, 1 ended badly/);
  assert.match(top, /turn_failed:PROVIDER_RATE_LIMITED/);
  assert.match(await run(product, 'fleet', '--hours', '1'), /sessions +4, 1 ended badly/);
  const traces = await run(product, 'trace', '--where', 'error');
  assert.match(traces, /PROVIDER_RATE_LIMITED +default:.*:limited\n$/);
  assert.equal(traces.trim().split('\n').length, 1);
  const [, turnId = assert.fail('no turn of the session')] = /(turn_\w+) .*:one\n/.exec(await run(product, 'trace')) ?? [];
  await replayFolder(product, turnId);
});
