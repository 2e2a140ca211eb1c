import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CONFIG_BUCKET, contracts, GATEWAY_DEPENDENCIES, TOKENS_BUCKET, TOKENS_COMPLETE_KEY } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { openHost, startService, watchReplicas, type Host } from '@switchyard/service-kit';
import { createLogger, silentLogger, type Logger } from '@switchyard/telemetry';
import { createAuthority, startProcess, tempDir } from '@switchyard/testkit';
import { defineGateway } from './service.ts';
import { SECRETS, type Answer } from './gateway.fixture.ts';

async function openTestHost(t: TestContext, env: Record<string, string> = {}, log: Logger = silentLogger()): Promise<Host> {
  const data = await mkdtemp(join(tmpdir(), 'switchyard-'));
  const host = await openHost({
    env: { SWITCHYARD_DATA: data, SWITCHYARD_CONFIG: ':', SWITCHYARD_PORT: '0', ...env },
    log,
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

test('an unreadable dashboard directory stops the start if a file or the environment set it, not if it is stored', async (t) => {
  const layer = { gateway: { web: { path: '/nowhere' } } };
  const stored = await openTestHost(t);
  await (await stored.bus.kv(CONFIG_BUCKET)).put('head', Buffer.from(JSON.stringify({ layer })));
  await stored.bus.flush();
  await using service = await start(stored);
  assert.equal((await fetch(`${service.url}/health`)).status, 200);
  await assert.rejects(start(await openTestHost(t, { SWITCHYARD_GATEWAY__WEB__PATH: '/nowhere' })), /gateway\.web\.path/);
});

test('listens on its address, confirms tokens, answers pings and stops', async (t) => {
  const host = await openTestHost(t);
  for (const name of GATEWAY_DEPENDENCIES) await (await host.connect(name)).serve(contracts[name], {}, { version: '0.0.0' });
  const service = await start(host);
  assert.match(service.url, /^http:\/\/127\.0\.0\.1:\d+$/);

  const token = { id: 'alice', hash: hashToken(SECRETS.rpc), scopes: ['rpc'], tenant: 'default', client: 'alice', ver: 1 };
  const bucket = await host.bus.kv(TOKENS_BUCKET);
  await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));
  const revision = await bucket.put('default.alice', Buffer.from(JSON.stringify(token)));
  using replicas = await watchReplicas(host.bus, TOKENS_BUCKET);
  assert.ok(await replicas.awaitRevision({ service: 'gateway', revision, timeoutMs: 10_000 }));

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

test('fails to start on a port in use and leaves nothing running', async (t) => {
  const host = await openTestHost(t);
  await using first = await start(host);
  const second = await openTestHost(t, { SWITCHYARD_PORT: new URL(first.url).port });
  await assert.rejects(start(second), { code: 'EADDRINUSE' });
  assert.equal((await fetch(`${first.url}/health`)).status, 200);
});

test('fails to start with unusable certificates and names the setting', async (t) => {
  const host = await openTestHost(t, {
    SWITCHYARD_GATEWAY__TLS__CERT_PATH: 'a.pem',
    SWITCHYARD_GATEWAY__TLS__KEY_PATH: 'b.pem',
    SWITCHYARD_GATEWAY__TLS__CA_PATH: 'c.pem',
  });
  await assert.rejects(start(host), { name: 'StartError', message: /^gateway\.tls\.certPath: a\.pem cannot be read \(ENOENT\)\.$/ });
});

test('serves TLS with certificates and has an https URL', async (t) => {
  await using directory = await tempDir();
  const { caPath, issue } = createAuthority(directory.path);
  const { certPath, keyPath } = issue('server');
  const host = await openTestHost(t, {
    SWITCHYARD_GATEWAY__TLS__CERT_PATH: certPath,
    SWITCHYARD_GATEWAY__TLS__KEY_PATH: keyPath,
    SWITCHYARD_GATEWAY__TLS__CA_PATH: caPath,
  });
  await using service = await start(host);
  assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/);
});

test('drains for drainDelayMs, limited by the shutdown timeout', async (t) => {
  const host = await openTestHost(t, { SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: '60000', SWITCHYARD_DAEMON__SHUTDOWN_TIMEOUT_MS: '1200' });
  const service = await start(host);
  const startedAt = performance.now();
  const stopped = service[Symbol.asyncDispose]();
  const probe = await untilDraining(service.url);
  assert.equal(probe.status, 503);
  assert.equal((await fetch(`${service.url}/health`)).status, 200);
  await stopped;
  const ms = performance.now() - startedAt;
  assert.ok(ms >= 399 && ms < 30_000, `${ms}`);
});

/** The first matching response of the probe. */
async function untilDraining(url: string): Promise<Response> {
  for (;;) {
    const probe = await fetch(`${url}/readyz`);
    if (((await probe.json()) as { status: string }).status === 'draining') return probe;
  }
}

test('warns when it listens beyond loopback without TLS', async (t) => {
  for (const [env, warnings] of [
    [{}, 0],
    [{ SWITCHYARD_HOST: '0.0.0.0' }, 1],
    [{ SWITCHYARD_HOST: '0.0.0.0', SWITCHYARD_GATEWAY__ALLOW_INSECURE_HTTP: 'true' }, 0],
  ] as const) {
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } });
    await using _service = await start(await openTestHost(t, env, log));
    assert.equal(lines.filter((line) => /clear text.*SWITCHYARD_HOST=127\.0\.0\.1/.test(line)).length, warnings, lines.join(''));
  }
});

test('writes nothing to disk in a process of its own', async () => {
  await using dir = await tempDir();
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  await using edge = await startProcess([process.execPath, main], {
    cwd: dir.path,
    env: { HOME: dir.path, SWITCHYARD_PORT: '0', SWITCHYARD_CONFIG: ':' },
    ready: /"msg":"serving"/,
  });
  assert.deepEqual(await edge.end(), { code: 0, signal: null });
  assert.deepEqual(await readdir(dir.path, { recursive: true }), []);
});

test('does not listen when gateway.enabled is false', async (t) => {
  const host = await openTestHost(t, { SWITCHYARD_GATEWAY__ENABLED: 'false' });
  await using service = await start(host);
  assert.equal(service.url, '');
  assert.equal((await host.bus.call('system.ping', {})).pong, true);
});
