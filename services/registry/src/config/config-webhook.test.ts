import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { secrets } from '@switchyard/contracts';
import { mapHosts } from '@switchyard/egress/testing';
import { startService } from '@switchyard/service-kit';
import { principal, resolveSecrets, testService, type TestService } from '@switchyard/testkit';
import { registry } from '../service.ts';

const KEY = 'the key of the webhook';
const TIMEOUT = { timeout: 60_000 };

interface PublishedVersion {
  headers: Record<string, unknown>;
  body: string;
}

/** A webhook receiver that answers as the test configures. */
async function startListener(...statuses: number[]) {
  const received: PublishedVersion[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(statuses.shift() ?? 200, { location: '/elsewhere' }).end();
    for (const look of waiting.splice(0)) look();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/changed`,
    received,
    async until(count: number): Promise<PublishedVersion[]> {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return received;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function start(url: string, secret?: object, allowedNetHosts: string[] = []): Promise<TestService> {
  const configWebhook = { url, ...(secret && { secret }) } as { url: string };
  return testService(registry, {
    as: principal({ client: 'ops', scopes: ['*'] }),
    settings: { daemon: { configWebhook }, security: { permission: { allowedNetHosts } } },
    prepare: async (host) => {
      await (await host.connect('secrets')).serve(secrets, { 'secrets.resolve': resolveSecrets({ HOOK_KEY: KEY }) }, { version: '0.0.0' });
    },
  });
}

test('each version is sent once by the replica that wrote it, signed, with a diff and without secrets', TIMEOUT, async () => {
  await using listener = await startListener();
  await using app = await start(listener.url, { source: 'env', provider: 'env', id: 'HOOK_KEY' });
  await using _second = await startService(registry, app.host);
  const patch = { providers: { entries: { lab: { type: 'openai', headers: { 'x-token': 'hidden from all' }, maxRetries: 7 } } } };
  const patched = await app.bus.call('config.patch', patch);
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 9, message: 'fewer at once' });
  const received = await listener.until(2);
  for (const { headers, body } of received) {
    assert.equal(headers['x-webhook-signature'], `sha256=${createHmac('sha256', KEY).update(body).digest('hex')}`);
    assert.ok(!body.includes('hidden from all') && !body.includes(KEY));
  }
  const all = received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  const first = all.find(({ section }) => section === 'providers') ?? {};
  const { timestamp, diff, ...content } = first;
  const metadata = { user: 'ops', summary: 'config.patch providers' };
  assert.deepEqual(content, {
    event: 'config.changed',
    method: 'config.patch',
    section: 'providers',
    commitSha: 'commitSha' in patched && patched.commitSha,
    metadata,
  });
  assert.match(String(diff), /\+ +maxRetries: 7/);
  assert.equal(typeof timestamp, 'number');
  const second = all.find(({ section }) => section === 'gateway') ?? {};
  assert.deepEqual([second['method'], second['metadata']], [undefined, { user: 'ops', summary: 'fewer at once' }]);
});

test('retries a failed webhook and does not follow redirects', TIMEOUT, async () => {
  await using listener = await startListener(500, 302);
  await using app = await start(listener.url);
  await app.bus.call('config.patch', { logLevel: 'warn' });
  const received = await listener.until(3);
  assert.equal(new Set(received.map(({ body }) => body)).size, 1);
  assert.equal(received[0]?.headers['x-webhook-signature'], undefined);
});

test('sends nothing if the signing key is not set', TIMEOUT, async () => {
  await using listener = await startListener();
  await using app = await start(listener.url, { source: 'env', provider: 'env', id: 'NOT_SET' });
  await app.bus.call('config.patch', { logLevel: 'warn' });
  await app.bus.call('config.patch', { daemon: { configWebhook: { secret: 'in the open' } } });
  await app.bus.call('config.patch', { gateway: { maxBatchSize: 3 } });
  const last = (await listener.until(1)).at(-1)?.body ?? '';
  assert.notEqual((JSON.parse(last) as { section?: string }).section, 'logLevel');
  assert.ok(!last.includes('in the open'));
});

test('sends nothing to a host outside allowedNetHosts', TIMEOUT, async () => {
  await using listener = await startListener();
  for (const [hosts, received] of [
    [['hooks.example.com'], 0],
    [['hooks.example.com', '127.0.0.1'], 1],
  ] as const) {
    const app = await start(listener.url, undefined, [...hosts]);
    await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 9 });
    await app[Symbol.asyncDispose]();
    assert.equal(listener.received.length, received, hosts.join());
  }
});

test('sends nothing to a metadata service', TIMEOUT, async () => {
  await using listener = await startListener();
  const resolutions = Promise.withResolvers<void>();
  const addresses = (): string[] => {
    resolutions.resolve();
    return ['169.254.169.254'];
  };
  using _hosts = mapHosts({ 'hooks.example': { port: Number(new URL(listener.url).port), addresses } });
  const app = await start('http://hooks.example/changed');
  await app.bus.call('config.set', { section: 'gateway', key: 'maxBatchSize', value: 9 });
  await resolutions.promise;
  await app[Symbol.asyncDispose]();
  assert.equal(listener.received.length, 0);
});
