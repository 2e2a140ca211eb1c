import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memory, type MemoryEntry } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { readError } from '../problem.fixture.ts';

const entry: MemoryEntry = {
  id: '0193a6f2-7c1e-7d44-9a55-1f0c2b7d3e90',
  tenantId: 'default',
  agentId: 'default',
  userId: 'alice',
  content: 'Alice prefers short answers.',
  memoryType: 'semantic',
  trustLevel: 'learned',
  source: { who: 'alice' },
  tags: [],
  createdAt: 1763719200000,
  score: 0.9,
};

/** A gateway with a memory service that stores one entry and records its requests. */
async function start(): Promise<{ gateway: TestGateway; received: unknown[] }> {
  const gateway = await startTestGateway();
  const received: unknown[] = [];
  const handlers = {
    'memory.search': (params: unknown) => (received.push(params), { results: [entry] }),
    'memory.inspect': (params: unknown) => (received.push(params), { stats: { totalEntries: 1, dbSizeBytes: 10 } }),
  };
  await gateway.bus.serve(memory, handlers, { version: '0.0.0' });
  return { gateway, received };
}

const read = (gateway: TestGateway, path: string, token: string = SECRETS.rpc) =>
  fetch(`${gateway.url}/api/memory/${path}`, { headers: { authorization: `Bearer ${token}` } });

test('returns the public fields of each memory', async () => {
  const { gateway, received } = await start();
  await using _ = gateway;
  const response = await read(gateway, 'search?q=short%20answers&limit=5');
  const { id, content, memoryType, trustLevel, score, createdAt } = entry;
  assert.deepEqual(await response.json(), { results: [{ id, content, memoryType, trustLevel, score, createdAt }] });
  assert.deepEqual([response.status, response.headers.get('cache-control')], [200, 'no-store']);
  assert.deepEqual(received, [{ query: 'short answers', limit: 5 }]);
});

test('uses limit 10 by default and clamps it to 1..100', async () => {
  const { gateway, received } = await start();
  await using _ = gateway;
  for (const limit of ['', '&limit=0', '&limit=-3', '&limit=1000', '&limit=ten', '&limit=2.9'])
    assert.equal((await read(gateway, `search?q=a${limit}`)).status, 200);
  assert.deepEqual(
    received.map((params) => (params as { limit: number }).limit),
    [10, 1, 1, 100, 10, 2],
  );
});

test('names the mistake in an invalid query', async () => {
  const { gateway, received } = await start();
  await using _ = gateway;
  for (const [path, error] of [
    ['search', 'Missing required query parameter: q'],
    ['search?q=', 'Missing required query parameter: q'],
    ['search?q=a&q=b', 'Repeated query parameter: q'],
    ['search?q=a&limit=1&limit=2', 'Repeated query parameter: limit'],
  ] as const) {
    const response = await read(gateway, path);
    assert.deepEqual([response.status, await readError(response)], [400, { error }], path);
  }
  const long = await read(gateway, `search?q=${'a'.repeat(10_001)}`);
  assert.equal(long.status, 400);
  assert.deepEqual(received, []);
});

test('returns memory statistics', async () => {
  const { gateway } = await start();
  await using _ = gateway;
  assert.deepEqual(await (await read(gateway, 'stats')).json(), { stats: { totalEntries: 1, dbSizeBytes: 10 } });
});

test('requires scope rpc', async () => {
  const { gateway, received } = await start();
  await using _ = gateway;
  for (const path of ['search?q=a', 'stats']) {
    assert.equal((await read(gateway, path, SECRETS.admin)).status, 403);
    assert.equal((await read(gateway, path, 'unknown')).status, 401);
  }
  assert.deepEqual(received, []);
});

test('returns 503 without a memory service', async () => {
  await using gateway = await startTestGateway();
  assert.equal((await read(gateway, 'search?q=a')).status, 503);
});
