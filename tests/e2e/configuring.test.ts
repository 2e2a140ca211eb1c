import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Running } from './embedded.ts';
import { sendRequest, call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

interface Entry {
  sha: string;
  parent?: string;
  message: string;
}

interface History {
  entries: Entry[];
  inForce: { sha: string; replicas: number; lagging: unknown[] };
}

const SECOND_MS = 1_000;

/** Resolves with the elapsed milliseconds. */
async function waitUntil(holds: () => Promise<boolean>): Promise<number> {
  const since = performance.now();
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
  return performance.now() - since;
}

function history(product: Running, limit = 1_000): Promise<History> {
  return call<History>(product, 'config.history', { limit });
}

async function lagging(product: Running): Promise<unknown[]> {
  return (await history(product, 1)).inForce.lagging;
}

/** Reads maxBatchSize from the rejection of an oversized batch, at the gateway that the balancer selects. */
async function getBatch(product: Running, calls: number): Promise<number> {
  const body = Array.from({ length: calls }, (_, id) => ({ jsonrpc: '2.0', id, method: 'system.ping', params: {} }));
  const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
  const answer: unknown = await (await fetch(`${product.url}/rpc`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  return Array.isArray(answer) ? answer.length : 0;
}

onEachProfile('the configuration', (product) => {
  test('a change and its revert are in force at every replica within a second, without a restart', async () => {
    assert.equal(await getBatch(product, 3), 3);
    const before = (await history(product, 1)).entries[0];
    await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 2 });
    const took = await waitUntil(async () => (await lagging(product)).length === 0);
    assert.ok(took < 15 * SECOND_MS, `${took} ms`);
    for (let n = 0; n < 6; n++) assert.equal(await getBatch(product, 3), 0, 'whichever gateway answers');

    await call(product, 'config.rollback', { sha: before?.sha });
    await waitUntil(async () => (await lagging(product)).length === 0);
    for (let n = 0; n < 6; n++) assert.equal(await getBatch(product, 3), 3);
  });

  test('an agent uses a changed setting from its next turn on', async () => {
    await call(product, 'config.patch', { agents: { default: { model: 'dev/scripted' } } });
    await waitUntil(async () => {
      const { response } = await call<{ response: string }>(product, 'agent.execute', { message: '[{"text":"as told"}]' });
      return response === 'as told';
    });
    await call(product, 'config.set', { section: 'agents', key: 'default.model', value: null });
  });

  test('rejects invalid settings and keeps running', async () => {
    const { entries } = await history(product);
    const poison = [
      ['config.patch', { gateway: { maxBatchSize: -1 } }],
      ['config.patch', { gateway: { port: 1 } }],
      ['config.apply', {}],
      ['config.set', { section: 'gateway', key: 'constructor', value: 1 }],
      ['config.rollback', { sha: '0'.repeat(64) }],
    ] as const;
    for (const [method, params] of poison) assert.ok((await sendRequest(product, method, params)).error, JSON.stringify(params));
    assert.deepEqual((await history(product)).entries, entries);
    assert.deepEqual(await lagging(product), []);
  });

  test('concurrent writes form one version chain, and every replica runs the latest version', async () => {
    const before = (await history(product)).entries.length;
    const keys = ['trustedProxies', 'corsOrigins'] as const;
    const writers = [0, 1, 2].map(async (writer) => {
      for (let n = 0; n < 15; n++) {
        const params =
          writer === 2
            ? { section: 'queue', key: 'cleanupIdleMs', value: n + 1 }
            : { section: 'gateway', key: keys[writer], value: [`10.0.0.${n}`] };
        await call(product, 'config.set', params);
      }
    });
    await Promise.all(writers);
    const { entries } = await history(product);
    assert.equal(entries.length, before + 45);
    assert.deepEqual(
      entries.map(({ parent }) => parent),
      [...entries.slice(1).map(({ sha }) => sha), undefined],
    );
    const { config } = await call<{ config: { gateway: Record<string, unknown>; queue: Record<string, unknown> } }>(
      product,
      'config.read',
      {},
    );
    assert.deepEqual(
      [config.gateway['trustedProxies'], config.gateway['corsOrigins'], config.queue['cleanupIdleMs']],
      [['10.0.0.14'], ['10.0.0.14'], 15],
    );
    await waitUntil(async () => (await lagging(product)).length === 0);
    const { inForce } = await history(product, 1);
    assert.equal(inForce.sha, entries[0]?.sha);
    assert.ok(inForce.replicas >= 4);
  });

  test('distributes a configuration that exceeds a bus message', async () => {
    const corsOrigins = Array.from({ length: 200 }, (_, at) => `https://${at}.example/${'x'.repeat(900)}`);
    await call(product, 'config.set', { section: 'gateway', key: 'corsOrigins', value: corsOrigins });
    await waitUntil(async () => (await lagging(product)).length === 0);
    const { corsOrigins: read } = await call<{ corsOrigins: string[] }>(product, 'config.get', { section: 'gateway' });
    assert.equal(read.length, 200);
    await call(product, 'config.set', { section: 'gateway', key: 'corsOrigins', value: null });
  });
});
