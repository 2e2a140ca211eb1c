import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channels, EVENTS_LOG, registry, type Principal } from '@switchyard/contracts';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const PRINCIPAL: Principal = { tenant: 'default', client: 'test', scopes: ['*'] };

const read = (gateway: TestGateway, path: string, token: string = SECRETS.rpc) =>
  fetch(`${gateway.url}/api/${path}`, { headers: { authorization: `Bearer ${token}` } });

interface Activity {
  entries: { id: string; event: string; payload: { content?: string }; timestamp: number }[];
  count: number;
}

/** A gateway, and a publisher of events for a tenant. */
async function start() {
  const gateway = await startTestGateway();
  const log = await gateway.bus.log(EVENTS_LOG);
  return {
    gateway,
    log,
    emitMessage: (content: string, tenant = 'default') =>
      gateway.bus.as({ ...PRINCIPAL, tenant }).emit('message:sent', { channelId: 'gateway', messageId: content, content }),
    activity: async (query = '') => (await (await read(gateway, `activity${query}`)).json()) as Activity,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

test('lists agents with their models', async () => {
  await using gateway = await startTestGateway();
  const agent = { id: 'default', name: 'Default', provider: 'dev', model: 'echo', status: 'active' as const };
  await gateway.bus.serve(registry, { 'agents.visible': () => ({ agents: [agent] }) }, { version: '0.0.0' });
  const response = await read(gateway, 'agents');
  assert.deepEqual([response.status, await response.json()], [200, { agents: [agent] }]);
  assert.equal(response.headers.get('cache-control'), 'no-store');
});

test('lists running channels', async () => {
  await using gateway = await startTestGateway();
  const list = {
    channels: [
      { channelType: 'telegram', channelId: 'family', status: 'running' as const },
      { channelType: 'discord', status: 'running' as const },
      { channelType: 'slack', status: 'stopped' as const, configured: true },
    ],
    total: 3,
  };
  await gateway.bus.serve(channels, { 'channels.list': () => list }, { version: '0.0.0' });
  assert.deepEqual(await (await read(gateway, 'channels')).json(), {
    channels: [
      { type: 'telegram', name: 'family', enabled: true, status: 'connected' },
      { type: 'discord', name: 'discord', enabled: true, status: 'connected' },
    ],
  });
});

test('returns 503 without a channels service', async () => {
  await using gateway = await startTestGateway();
  assert.equal((await read(gateway, 'channels')).status, 503);
});

test('returns the activity of the tenant only, oldest first', async () => {
  await using t = await start();
  const since = Date.now();
  t.emitMessage('one');
  t.emitMessage('of somebody else', 'elsewhere');
  t.gateway.bus.as(PRINCIPAL).emit('agent:hot_added', { agentId: 'a', timestamp: 1 });
  t.emitMessage('two');
  const { name, seq } = await t.log.position();
  const { entries, count } = await t.activity();
  assert.deepEqual(
    entries.map(({ id, event, payload }) => [id, event, payload.content]),
    [
      [`${name}-${seq - 3}`, 'message:sent', 'one'],
      [`${name}-${seq}`, 'message:sent', 'two'],
    ],
  );
  assert.equal(count, 2);
  for (const { timestamp } of entries) assert.ok(timestamp >= since && timestamp <= Date.now());
});

test('returns the last fifty activities, or the requested number up to a hundred', async () => {
  await using t = await start();
  for (let n = 1; n <= 700; n++) t.emitMessage(String(n), n % 5 === 0 ? 'default' : 'elsewhere');
  for (const [query, count] of [
    ['', 50],
    ['?limit=3', 3],
    ['?limit=0', 1],
    ['?limit=1000', 100],
    ['?limit=many', 50],
  ] as const) {
    const { entries } = await t.activity(query);
    assert.deepEqual(
      entries.map(({ payload }) => payload.content),
      Array.from({ length: count }, (_, index) => String(700 - (count - 1 - index) * 5)),
      query,
    );
  }
});

test('returns an empty list without activity', async () => {
  await using t = await start();
  assert.deepEqual(await t.activity(), { entries: [], count: 0 });
});

test('requires scope rpc', async () => {
  await using gateway = await startTestGateway();
  for (const path of ['agents', 'channels', 'activity']) {
    assert.equal((await read(gateway, path, SECRETS.admin)).status, 403, path);
    assert.equal((await read(gateway, path, 'unknown')).status, 401, path);
  }
});
