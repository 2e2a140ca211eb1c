import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Check } from './check.ts';
import { checkData, checkNode, checkPackages } from './machine-checks.ts';
import { checkClock } from './server-checks.ts';
import { assertPasteable, runCommand, startServer, TOKEN, type Behaviour } from '../../command.fixture.ts';

const root = mkdtempSync(join(tmpdir(), 'doctor-'));
after(() => rmSync(root, { recursive: true }));

/** Starts a server and creates its data directory with a saved token. */
function freshData(url: string, token?: string): string {
  const data = mkdtempSync(join(root, 'data-'));
  writeFileSync(join(data, 'run.json'), JSON.stringify({ url, processes: [] }));
  if (token !== undefined) writeFileSync(join(data, 'token'), token, { mode: 0o600 });
  return data;
}

async function examine(data: string, url: string): Promise<{ code: number | null; ok: boolean; checks: Map<string, Check> }> {
  const { code, stdout } = await runCommand(['doctor', '-o', 'json', '--url', url], { cwd: root, env: { SWITCHYARD_DATA: data } });
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  for (const { next } of checks) {
    if (next === undefined) continue;
    assertPasteable(next);
    assert.doesNotMatch(next, /switchyard'? doctor/);
  }
  return { code, ok, checks: new Map(checks.map((check) => [check.name, check])) };
}

function serving(providers: string[], ts = () => Date.now()): Behaviour {
  return { call: ({ method }) => (method === 'system.ping' ? { pong: true, ts: ts() } : { providers, count: providers.length }) };
}

test('exits with 0 when all checks pass', async () => {
  await using server = await startServer(serving(['dev']));
  const { code, stdout } = await runCommand(['doctor', '--url', server.url], {
    cwd: root,
    env: { SWITCHYARD_DATA: freshData(server.url, TOKEN) },
  });
  assert.equal(code, 0, stdout);
  for (const name of ['node', 'packages', 'data', 'saved token', 'port', 'server', 'token', 'clock', 'provider'])
    assert.match(stdout, new RegExp(`^✓ ${name} `, 'm'));
  assert.match(stdout, /^· nats-server /m);
  assert.match(stdout, /provider +only the offline development models.*\n {4}next: read -rs OPENAI_API_KEY && /);
  assert.ok(!stdout.includes('\u001b'));
});

test('reports only the server as failed when nothing runs', async () => {
  const gone = await startServer();
  await gone[Symbol.asyncDispose]();
  const { code, ok, checks } = await examine(join(root, 'none'), gone.url);
  assert.deepEqual([code, ok], [1, false]);
  assert.deepEqual(
    [...checks.values()].filter((check) => check.ok === false).map(({ name }) => name),
    ['server'],
  );
  assert.match(checks.get('server')?.next ?? '', /switchyard start$/);
  assert.equal(checks.get('port')?.ok, true);
});

test('reports a port that another program uses', async () => {
  const stranger = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'));
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  const taken = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  const { checks } = await examine(freshData(taken), taken);
  stranger.close();
  assert.deepEqual([checks.get('port')?.ok, checks.get('server')?.ok], [false, false]);
  assert.match(checks.get('port')?.detail ?? '', /used by another process/);
  assert.match(checks.get('port')?.next ?? '', /start --port 0$/);
});

test('reports a rejected token, clock skew and a readable data directory', async () => {
  await using server = await startServer(serving(['openai'], () => Date.now() - 60_000));
  const open = freshData(server.url, 'refused-token');
  chmodSync(open, 0o755);
  chmodSync(join(open, 'token'), 0o644);
  const wrong = await examine(open, server.url);
  assert.equal(wrong.code, 1);
  assert.match(wrong.checks.get('token')?.detail ?? '', /no longer accepts the token saved in .* it was rotated or revoked/);
  assert.match(wrong.checks.get('data')?.next ?? '', /^chmod 700 /);
  assert.match(wrong.checks.get('saved token')?.next ?? '', /^chmod 600 /);
  assert.doesNotMatch(JSON.stringify([...wrong.checks]), /refused-token/);
  const late = await examine(freshData(server.url, TOKEN), server.url);
  assert.deepEqual([late.checks.get('clock')?.ok, late.checks.get('token')?.ok, late.checks.get('provider')?.ok], [false, true, true]);
  assert.match(late.checks.get('provider')?.detail ?? '', /a real provider is configured/);
});

test('fails for a service that is down but not for an unbuilt one', async () => {
  const replicas = [1, 2].map((pid) => ({ replica: `r${pid}`, version: '0.1.0', startedAt: 1, pid, host: 'here' }));
  const services = [
    { service: 'sessions', state: 'up', replicas },
    { service: 'registry', state: 'down', replicas: [] },
    { service: 'memory', state: 'absent', replicas: [] },
    { service: 'graph', state: 'unbuilt', replicas: [] },
  ];
  const dependencies = { bus: { ready: true }, 'gateway.tokens': { ready: false, reason: 'no token is known' } };
  const readiness = { code: 503, body: { status: 'unavailable', dependencies } };
  await using server = await startServer({ ...serving(['openai']), services, readiness });
  const { code, stdout } = await runCommand(['doctor', '--url', server.url, '--token', TOKEN], {
    cwd: root,
    env: { SWITCHYARD_DATA: join(root, 'none') },
  });
  assert.equal(code, 1);
  assert.match(stdout, /^✗ ready +gateway\.tokens: no token is known\n {4}next: .*switchyard status --url http/m);
  assert.match(stdout, /^✓ services +sessions ×2$/m);
  assert.match(stdout, /^. not installed +memory: not in gateway\.installedServices$/m);
  assert.match(stdout, /^✗ services +registry is down: no replica answers\n {4}next: .*switchyard status --url http/m);
  assert.match(stdout, /^· not built +graph: /m);
});

test('names the missing optional dependency of a service that is ready', async () => {
  const dependencies = { 'browser.chromium': { ready: false, reason: 'Chromium is not on the PATH', since: 1 } };
  const replica = { replica: 'r1', version: '0.1.0', startedAt: 1, pid: 1, host: 'here' };
  const services = [
    { service: 'browser', state: 'up', replicas: [{ ...replica, readiness: { ready: true, status: 'ready', dependencies } }] },
  ];
  const readiness = { code: 200, body: { status: 'ready', dependencies: {} } };
  await using server = await startServer({ ...serving(['openai']), services, readiness });
  const { stdout } = await runCommand(['doctor', '--url', server.url, '--token', TOKEN], {
    cwd: root,
    env: { SWITCHYARD_DATA: join(root, 'none') },
  });
  assert.match(stdout, /^✓ ready +ready$/m);
  assert.match(stdout, /^✓ services +browser ×1$/m);
  assert.match(stdout, /^· degraded +browser\.chromium: Chromium is not on the PATH\n {4}next: .*switchyard status --url http/m);
});

test('reports an unreadable token once', async () => {
  const data = freshData('http://127.0.0.1:9');
  mkdirSync(join(data, 'token'));
  const { code, stderr } = await runCommand(['doctor'], { cwd: root, env: { SWITCHYARD_DATA: data } });
  assert.equal(code, 1);
  assert.match(stderr, /^error: The token in .* cannot be read \(EISDIR\)\.\n {2}next: ls -ld .*\n$/);
});

test('checks Node, packages, data directory and clock', () => {
  assert.doesNotMatch(checkNode('20.20.0').next ?? '', /doctor/);
  assert.deepEqual([checkNode('20.20.0').ok, checkNode('24.0.0').ok, checkNode('100.0.0').ok], [false, true, true]);
  const checkout = join(root, 'checkout');
  mkdirSync(join(checkout, 'libs/a'), { recursive: true });
  writeFileSync(join(checkout, 'libs/a/package.json'), '{"dependencies":{"zod":"4.0.0"}}');
  assert.equal(checkPackages(checkout).ok, false);
  assert.match(checkPackages(checkout).detail, /1 packages are not installed: zod/);
  mkdirSync(join(checkout, 'node_modules/zod'), { recursive: true });
  writeFileSync(join(checkout, 'node_modules/zod/package.json'), '{}');
  assert.equal(checkPackages(checkout).ok, true);
  writeFileSync(join(root, 'file'), '');
  assert.equal(checkData({ data: join(root, 'file') }).ok, false);
  assert.deepEqual([checkClock(100, 90, 110).ok, checkClock(5_200, 100, 110).ok, checkClock(0, 5_001, 5_002).ok], [true, false, false]);
});
