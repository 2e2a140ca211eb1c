import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { command, linesWritten, type Running, type StartOptions } from './embedded.ts';
import { sendRequest, call, mint } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

/** Time within which a change is in force everywhere. */
const SECOND_MS = 1_000;

async function run(product: Running, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(product, ...words);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function runFile({ data }: Running): Promise<{ processes: { pid: number }[] }> {
  return JSON.parse(await readFile(`${data}/run.json`, 'utf8')) as { processes: { pid: number }[] };
}

async function created(product: Running): Promise<number> {
  return (await linesWritten(product)).filter((line) => line.includes('"msg":"a token was created"')).length;
}

async function mintSome(product: Running): Promise<void> {
  for (let n = 0; n < 6; n++) await mint(product, 'rpc');
}

let upstream: Upstream;

async function start(stack: AsyncDisposableStack): Promise<StartOptions> {
  upstream = stack.use(await startUpstream({ kind: 'text', text: 'Hello.' }));
  const lab = { type: 'openai-compatible', baseUrl: upstream.url, apiKeyName: 'LAB_API_KEY', models: [{ id: 'one' }] };
  return { config: { providers: { entries: { lab } }, agents: { default: { provider: 'lab', model: 'one' } } } };
}

/** The credentials of the last request to the provider. */
function render(): string | undefined {
  return upstream.requests.at(-1)?.headers.authorization;
}

onEachProfile(
  'control',
  (product, profile) => {
    test('a provider key is set and changed without a restart and appears in no log', async () => {
      const { processes } = await runFile(product);
      const missing = await sendRequest(product, 'agent.execute', { message: 'hello' });
      assert.match(missing.error?.message ?? '', /lab\/one/);
      for (const value of ['canary-first-4d1b8e2a', 'canary-second-90c3f7d5']) {
        const set = await call(product, 'env.set', { key: 'LAB_API_KEY', value });
        const storage = profile === 'cluster' ? 'encrypted' : 'envfile';
        assert.deepEqual(set, { set: true, key: 'LAB_API_KEY', storage, restarting: true });
        await pause(SECOND_MS);
        for (let n = 0; n < 4; n++) {
          await call(product, 'agent.execute', { message: 'hello' });
          assert.equal(render(), `Bearer ${value}`, 'whichever replica it was');
        }
      }
      assert.match(await run(product, 'env', 'list', '*_api_key'), /^LAB_API_KEY +(encrypted|envfile)/);
      assert.ok(!(await linesWritten(product)).some((line) => line.includes('canary-')));
      assert.deepEqual(
        (await runFile(product)).processes.map(({ pid }) => pid),
        processes.map(({ pid }) => pid),
      );
    });

    test('the log level of a service changes in all of its replicas without a restart, and reverts', async () => {
      assert.equal(await run(product, 'logs', 'level', 'error', 'secrets'), 'secrets: log level error until the next start\n');
      await pause(SECOND_MS);
      await mintSome(product);
      await run(product, 'logs', 'level', 'info');
      await pause(SECOND_MS);
      await mintSome(product);
      while ((await created(product)) < 6) await pause(10);
      assert.equal(await created(product), 6, 'only those of the second half');
    });

    test('the audit log is complete and has one order at every replica', async () => {
      const { id } = await mint(product, 'rpc');
      await run(product, 'rpc', 'tokens.revoke', `id=${id}`);
      const acts = await run(product, 'audit', 'list', '--limit', '2');
      assert.match(acts, new RegExp(`tokens\\.create +success +id=${id}\\n.*tokens\\.revoke +success +id=${id}\\n$`));
      assert.match(await run(product, 'audit', 'verify'), /^\d+ records, whole\n$/);
    });
  },
  { start },
);
