import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBuilt, SERVICES } from '@switchyard/contracts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';
import { readyz, type Ready } from './health.fixture.ts';

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

test('probe responses have no request id', async () => {
  await using gateway = await startTestGateway();
  for (const path of ['/livez', '/startupz', '/readyz', '/health', '/api/health']) {
    const { headers } = await fetch(gateway.url + path, { headers: { 'x-request-id': 'mine' } });
    assert.equal(headers.get('x-request-id'), null, path);
  }
});
