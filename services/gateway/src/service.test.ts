import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { TOKENS_BUCKET } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { awaitRevision, openHost, startService, type Host } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { defineGateway } from './service.ts';
import { SECRETS, type Answer } from './gateway.fixture.ts';

async function openTestHost(t: TestContext, env: Record<string, string> = {}): Promise<Host> {
  const data = await mkdtemp(join(tmpdir(), 'switchyard-'));
  const host = await openHost({
    env: { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', SWITCHYARD_PORT: '0', ...env },
    log: silentLogger(),
  });
  t.after(async () => {
    await host[Symbol.asyncDispose]();
    await rm(data, { recursive: true });
  });
  return host;
}

async function start(host: Host): Promise<{ url: string } & AsyncDisposable> {
  let url = '';
  const service = await startService(defineGateway({ onListening: (address) => (url = address) }), host);
  return { url, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

test('listens where it says, confirms the tokens it knows, answers pings from both sides, and stops listening', async (t) => {
  const host = await openTestHost(t);
  const service = await start(host);
  assert.match(service.url, /^http:\/\/127\.0\.0\.1:\d+$/);

  const token = { id: 'alice', hash: hashToken(SECRETS.rpc), scopes: ['rpc'], tenant: 'default', client: 'alice', ver: 1 };
  const bucket = await host.bus.kv(TOKENS_BUCKET);
  const revision = await bucket.put('default.alice', Buffer.from(JSON.stringify(token)));
  assert.ok(await awaitRevision({ bus: host.bus, service: 'gateway', bucket: TOKENS_BUCKET.name, revision, timeoutMs: 10_000 }));

  const response = await fetch(`${service.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRETS.rpc}` },
    body: '{"jsonrpc":"2.0","method":"system.ping","id":1}',
  });
  const { result } = (await response.json()) as Answer;
  assert.equal((result as { pong: boolean }).pong, true);
  assert.equal((await host.bus.call('system.ping', {})).pong, true);
  assert.equal((await fetch(`${service.url}/readyz`)).status, 200);

  await service[Symbol.asyncDispose]();
  await assert.rejects(fetch(`${service.url}/health`));
});

test('a port that is taken fails the start and leaves nothing running', async (t) => {
  const host = await openTestHost(t);
  await using first = await start(host);
  const second = await openTestHost(t, { SWITCHYARD_PORT: new URL(first.url).port });
  await assert.rejects(start(second), { code: 'EADDRINUSE' });
  assert.equal((await fetch(`${first.url}/health`)).status, 200);
});

test('does not pretend to speak TLS', async (t) => {
  const host = await openTestHost(t, {
    SWITCHYARD_GATEWAY__TLS__CERT_PATH: 'a.pem',
    SWITCHYARD_GATEWAY__TLS__KEY_PATH: 'b.pem',
    SWITCHYARD_GATEWAY__TLS__CA_PATH: 'c.pem',
  });
  await assert.rejects(start(host), { name: 'StartError', message: /gateway\.tls/ });
});

test('listens nowhere when it is turned off', async (t) => {
  const host = await openTestHost(t, { SWITCHYARD_GATEWAY__ENABLED: 'false' });
  await using service = await start(host);
  assert.equal(service.url, '');
  assert.equal((await host.bus.call('system.ping', {})).pong, true);
});
