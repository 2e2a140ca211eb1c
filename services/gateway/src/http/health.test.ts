import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Served } from '@switchyard/bus';
import {
  contracts,
  GATEWAY_DEPENDENCIES,
  isBuilt,
  SERVICES,
  TOKENS_BUCKET,
  TOKENS_COMPLETE_KEY,
  type ServiceName,
  type ServicePresence,
} from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { openHost, startService, type Host } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { startNatsServer, tempDir, type NatsServer } from '@switchyard/testkit';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';
import { defineGateway } from '../service.ts';

interface Ready {
  status: string;
  dependencies: Record<string, { ready: boolean; reason?: string }>;
  services?: ServicePresence[];
}

async function readyz(url: string, token?: string): Promise<{ code: number; body: Ready }> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/readyz`, { headers });
  return { code: response.status, body: (await response.json()) as Ready };
}

/** Polls a condition, because probes have no events. The timeout of the test bounds it. */
async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

test('/readyz lists the services and their replicas for a token with scope admin', async () => {
  await using gateway = await startTestGateway();
  for (const token of [SECRETS.admin, SECRETS.all]) {
    const { code, body } = await readyz(gateway.url, token);
    assert.equal(code, 200);
    const services = body.services ?? [];
    assert.deepEqual(
      services.map(({ service }) => service),
      [...SERVICES],
    );
    const byName = new Map(services.map((service) => [service.service, service]));
    assert.deepEqual([byName.get('sessions')?.state, byName.get('sessions')?.replicas[0]?.pid], ['up', process.pid]);
    assert.deepEqual(byName.get('secrets'), { service: 'secrets', state: 'down', replicas: [] });
    for (const service of SERVICES.filter((name) => !isBuilt(name))) assert.equal(byName.get(service)?.state, 'unbuilt', service);
  }
});

test('/readyz tells a service that is not installed from one that is down', async () => {
  await using gateway = await startTestGateway({ settings: { installedServices: ['scheduler'] } });
  const { services = [] } = (await readyz(gateway.url, SECRETS.admin)).body;
  const states = new Map(services.map(({ service, state }) => [service, state]));
  assert.deepEqual(
    ['secrets', 'scheduler', 'memory'].map((name) => states.get(name)),
    ['down', 'down', 'absent'],
  );
});

test('/readyz omits the services without scope admin and never refuses a probe', async () => {
  await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 1, windowMs: 60_000 } } });
  for (const token of [undefined, SECRETS.rpc, SECRETS.mcp, 'a-token-that-nobody-knows', 'another-that-nobody-knows']) {
    const { code, body } = await readyz(gateway.url, token);
    assert.deepEqual([code, body.services, body.status], [200, undefined, 'ready'], token);
  }
});

test('/readyz omits the services above the rate limit', async () => {
  await using gateway = await startTestGateway({ settings: { rateLimit: { maxRequests: 1, windowMs: 60_000 } } });
  assert.ok((await readyz(gateway.url, SECRETS.admin)).body.services);
  assert.deepEqual((await readyz(gateway.url, SECRETS.admin)).body.services, undefined);
  assert.equal((await readyz(gateway.url)).code, 200);
});

test('/readyz omits the services while the bus is lost', async () => {
  await using gateway = await startTestGateway();
  await gateway.loseBus();
  const { code, body } = await readyz(gateway.url, SECRETS.admin);
  assert.deepEqual([code, body.services], [503, undefined]);
});

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

test('/readyz?endpoints adds the statistics of each method', async () => {
  await using gateway = await startTestGateway({
    handlers: { 'session.list': () => ({ sessions: [], total: 0 }), 'session.status': () => Promise.reject(new Error('no luck')) },
  });
  for (const method of ['session.list', 'session.list', 'session.status'])
    await gateway.post('/rpc', JSON.stringify({ jsonrpc: '2.0', id: 1, method }), { token: SECRETS.all });
  const findSessionsReplica = ({ services = [] }: Ready) => services.find(({ service }) => service === 'sessions')?.replicas[0];
  const response = await fetch(`${gateway.url}/readyz?endpoints`, { headers: { authorization: `Bearer ${SECRETS.admin}` } });
  const endpoints = findSessionsReplica((await response.json()) as Ready)?.endpoints ?? [];
  assert.deepEqual(
    endpoints.map(({ method, requests, errors, lastError }) => ({ method, requests, errors, lastError })),
    [
      { method: 'session.list', requests: 2, errors: 0, lastError: '' },
      { method: 'session.status', requests: 1, errors: 1, lastError: 'INTERNAL: Internal error' },
    ],
  );
  assert.ok(endpoints.every(({ averageMs }) => averageMs > 0));
  assert.equal(
    findSessionsReplica((await readyz(gateway.url, SECRETS.admin)).body)?.endpoints,
    undefined,
    'endpoints are omitted by default',
  );
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

test('probe responses have no request id', async () => {
  await using gateway = await startTestGateway();
  for (const path of ['/livez', '/startupz', '/readyz', '/health', '/api/health']) {
    const { headers } = await fetch(gateway.url + path, { headers: { 'x-request-id': 'mine' } });
    assert.equal(headers.get('x-request-id'), null, path);
  }
});
