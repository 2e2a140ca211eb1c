import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Served } from '@switchyard/bus';
import { contracts, GATEWAY_DEPENDENCIES, TOKENS_BUCKET, TOKENS_COMPLETE_KEY, type ServiceName } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { openHost, startService, type Host } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, tempDir, type NatsServer } from '@switchyard/testkit';
import { SECRETS } from '../gateway.fixture.ts';
import { defineGateway } from '../service.ts';
import { readyz } from './health.fixture.ts';

/** Polls a condition, because probes have no events. The timeout of the test bounds it. */
async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

interface GatewayOverNats {
  url: string;
  host: Host;
  server: NatsServer;
  putToken(): Promise<void>;
  /** Starts a replica of this service that answers discovery only. */
  join(service: ServiceName): Promise<Served>;
}

/** The gateway over a real NATS server, without tokens. Its required services answer discovery only. */
async function startOverNats(t: TestContext, services = GATEWAY_DEPENDENCIES): Promise<GatewayOverNats> {
  const server = await startNatsServer();
  const data = await tempDir();
  const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_PORT: '0', SWITCHYARD_BUS: server.url };
  const host = await openHost({ env, log: silentLogger() });
  let url = '';
  const join = async (name: ServiceName): Promise<Served> => {
    const bus = await host.connect(name);
    const served = await bus.serve(contracts[name], {}, { version: '0.0.0' });
    await bus.flush();
    return served;
  };
  for (const name of services) await join(name);
  const service = await startService(defineGateway({ onListening: (address) => (url = address) }), host);
  t.after(async () => {
    await service[Symbol.asyncDispose]();
    await host[Symbol.asyncDispose]();
    await server.stop();
    await data[Symbol.asyncDispose]();
  });
  const token = { id: 'alice', hash: hashToken(SECRETS.admin), scopes: ['admin'], tenant: 'default', client: 'alice', ver: 1 };
  const putToken = async (): Promise<void> => {
    const bucket = await host.bus.kv(TOKENS_BUCKET);
    await bucket.put('default.alice', Buffer.from(JSON.stringify(token)));
    await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));
  };
  return { url, host, server, putToken, join };
}

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

test('is not ready until the first token is published', { skip: NATS_OFF, timeout: 30_000 }, async (t) => {
  const { url, putToken } = await startOverNats(t);
  const { code, body } = await readyz(url, SECRETS.admin);
  assert.deepEqual([code, body.status, body.services], [503, 'unavailable', undefined]);
  assert.match(body.dependencies['gateway.tokens']?.reason ?? '', /no token is known: the secrets service/);
  await putToken();
  await waitUntil(async () => (await readyz(url)).code === 200);
  assert.ok((await readyz(url, SECRETS.admin)).body.services);
});

test('is not ready while a required service has no replica, and names it', { skip: NATS_OFF, timeout: 90_000 }, async (t) => {
  const { url, putToken, join } = await startOverNats(t, ['secrets', 'registry']);
  await putToken();
  const missing = async (): Promise<string[]> => {
    const { code, body } = await readyz(url);
    const names = Object.entries(body.dependencies).flatMap(([name, { ready }]) => (ready ? [] : [name]));
    assert.equal(code, names.length === 0 ? 200 : 503);
    return names;
  };
  await waitUntil(async () => (await missing()).join() === 'gateway.sessions');
  const [first, second] = [await join('sessions'), await join('sessions')];
  await waitUntil(async () => (await missing()).length === 0);
  await first.drain(0);
  await second.drain(0);
  await waitUntil(async () => (await missing()).join() === 'gateway.sessions');
  assert.equal((await readyz(url)).body.dependencies['gateway.sessions']?.reason, 'no replica answers');
});

test('is not ready five seconds after the token bucket is lost', { skip: NATS_OFF, timeout: 30_000 }, async (t) => {
  const { url, host, putToken } = await startOverNats(t);
  await putToken();
  await waitUntil(async () => (await readyz(url)).code === 200);
  host.bus.publish('$JS.API.STREAM.DELETE.KV_tokens', Buffer.alloc(0));
  await host.bus.flush();
  const lostAt = Date.now();
  await waitUntil(async () => (await readyz(url)).code === 503);
  assert.ok(Date.now() - lostAt > 3_000, 'a short outage rejects no request');
  assert.equal((await readyz(url)).body.dependencies['gateway.tokens']?.reason, 'the watch of the token bucket is lost');
});

test('is not ready while the bus has lost its tokens', { skip: NATS_OFF, timeout: 90_000 }, async (t) => {
  const { url, server, host, putToken } = await startOverNats(t);
  await putToken();
  await waitUntil(async () => (await readyz(url)).code === 200);
  await server.restart({ empty: true });
  await waitUntil(async () => host.bus.connected());
  await waitUntil(async () =>
    /has not published all tokens again/.test((await readyz(url)).body.dependencies['gateway.tokens']?.reason ?? ''),
  );
  assert.equal((await readyz(url)).code, 503);
  await putToken();
  await waitUntil(async () => (await readyz(url)).code === 200);
});
