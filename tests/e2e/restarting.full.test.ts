import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, RpcError, type Client } from '@switchyard/client';
import { freePort, startProcess, tempDir } from '@switchyard/testkit';
import { isAlive } from '../cluster/processes.ts';
import { chatUrl, contents } from './clients.ts';
import { startEmbedded } from './embedded.ts';
import { isNamed, listen } from './listening.ts';

const PAUSE_MS = 20;
const COMMAND = join(import.meta.dirname, '../../libs/cli/src/main.ts');
const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };

test('a restart in place keeps pid and port, fails no retried call, and continues running turns', async () => {
  await using product = await startEmbedded({ config });
  const client = createClient(product);
  const { pid } = await client.call('gateway.status', {});
  const question = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');
  using stream = listen(chatUrl(product, { message: question, agentId: 'slow', sessionKey: 'going-on' }));
  await stream.until(isNamed('token'));

  const request = await client.call('gateway.restart', {});
  assert.deepEqual(Object.keys(request), ['restarting', 'warning']);
  const began = performance.now();
  while ((await repeat(client, 'gateway.status')).uptime * 1_000 > performance.now() - began) await sleep(PAUSE_MS);
  const status = await repeat(client, 'gateway.status');
  assert.equal(status.pid, pid);
  assert.ok(isAlive(pid));
  const run = JSON.parse(readFileSync(`${product.data}/run.json`, 'utf8')) as { url: string };
  assert.equal(run.url, product.url);

  const { name, data } = await stream.until(isNamed('done', 'error'));
  assert.equal(name, 'done', JSON.stringify(data));
  assert.match(String(data['response']), /word0 .*word39$/);
  assert.equal((await contents(product, 'going-on')).length, 2, 'the question was asked once');
  client.close();
  assert.deepEqual(await product.process.end('SIGTERM'), { code: 0, signal: null });
});

test('a process with restricted file access works and is restarted by its launcher', async () => {
  await using data = await tempDir();
  const port = await freePort();
  const env = {
    HOME: data.path,
    SWITCHYARD_DATA: data.path,
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_SECURITY__PERMISSION__ENABLE_NODE_PERMISSIONS: 'true',
  };
  await using product = await startProcess([process.execPath, COMMAND, 'start'], { env, ready: /^Try:/m });
  // The CLI ends its child only if it can end itself.
  await using _ended = { [Symbol.asyncDispose]: async () => void (await product.end('SIGTERM')) };
  const token = readFileSync(join(data.path, 'token'), 'utf8').trim();
  const client = createClient({ url: `http://127.0.0.1:${port}`, token });
  const { response } = await client.call('agent.execute', { message: 'a needle' });
  assert.match(response, /needle/);
  const { pid } = await client.call('gateway.status', {});
  await client.call('gateway.restart', {});
  while ((await repeat(client, 'gateway.status')).pid === pid) await sleep(PAUSE_MS);
  const matches = await client.call('session.search', { query: 'needle' });
  assert.notEqual(matches.length, 0);
  client.close();
  assert.deepEqual(await product.end('SIGTERM'), { code: 0, signal: null });
  assert.ok(!product.output().includes('SecurityWarning'), product.output());
});

/** Retries while no process listens or the answer is UNAVAILABLE. */
async function repeat(client: Client, method: 'gateway.status') {
  for (;;) {
    try {
      return await client.call(method, {});
    } catch (error) {
      if (error instanceof RpcError && error.data.code !== 'UNAVAILABLE') throw error;
      await sleep(PAUSE_MS);
    }
  }
}
