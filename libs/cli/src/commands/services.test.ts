import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand, startServer, TOKEN } from '../command.fixture.ts';

const cwd = mkdtempSync(join(tmpdir(), 'services-'));
after(() => rmSync(cwd, { recursive: true }));

const replica = { replica: 'sessions-a', version: '0.1.0', startedAt: 1, pid: 12, host: 'here' };
const endpoints = [
  { method: 'session.list', requests: 40, errors: 0, lastError: '', averageMs: 1.25 },
  { method: 'session.send', requests: 3, errors: 1, lastError: 'UNAVAILABLE: gone', averageMs: 100 },
];
const readiness = { ready: false, status: 'unavailable', dependencies: { store: { ready: false, since: 1, reason: 'not connected' } } };
const SERVICES = [
  { service: 'sessions', state: 'up', replicas: [{ ...replica, readiness, endpoints }] },
  { service: 'registry', state: 'down', replicas: [] },
  { service: 'graph', state: 'unbuilt', replicas: [] },
];

const run = (url: string, ...words: string[]) => runCommand(['services', '--url', url, '--token', TOKEN, ...words], { cwd });

test('lists replicas with version, readiness and method statistics', async () => {
  await using server = await startServer({ services: SERVICES });
  const { code, stdout, stderr } = await run(server.url);
  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(stdout.split('\n'), [
    'sessions  sessions-a  0.1.0  pid 12 on here  store: not connected',
    '  session.list  40 requests  0 errors  1.25 ms',
    '  session.send  3 requests  1 errors  100.00 ms  UNAVAILABLE: gone',
    'registry  down: no replica answers',
    'graph  not built',
    '',
  ]);
  assert.deepEqual(JSON.parse((await run(server.url, 'sessions', '-o', 'json')).stdout), SERVICES.slice(0, 1));
});

test('fails for an unknown service and for a server without service list', async () => {
  await using server = await startServer({ services: SERVICES });
  const unknown = await run(server.url, 'nobody');
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /^error: Unknown service nobody\./);
  await using silent = await startServer();
  const refused = await run(silent.url);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /requires a token with scope admin/);
});
