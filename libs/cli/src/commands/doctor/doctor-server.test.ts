import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN } from '../../command.fixture.ts';
import { examine, freshData, root, serving } from './doctor.fixture.ts';

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
