import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand, startServer, TOKEN, type Behaviour } from '../command.fixture.ts';

const data = mkdtempSync(join(tmpdir(), 'status-'));
after(() => rmSync(data, { recursive: true }));

const registry = { pid: 1, uptime: 300, memoryUsage: 105_000_000, nodeVersion: 'v24.0.0', configPaths: [], sections: [] };
const RESULTS = new Map<string, unknown>([
  ['agents.list', { agents: ['default', 'helper'] }],
  ['models.list_providers', { providers: ['dev', 'openai'], count: 2 }],
  ['gateway.status', registry],
  ['system.ping', { pong: true, ts: Date.now() }],
]);
const replica = (id: string, pid: number) => ({ replica: id, version: '0.1.0', startedAt: Date.now() - 300_000, pid, host: 'here' });
const SERVICES = [
  { service: 'gateway', state: 'up', replicas: [replica('gateway-a', 11)] },
  { service: 'sessions', state: 'up', replicas: [replica('sessions-a', 12), replica('sessions-b', 13)] },
  { service: 'registry', state: 'down', replicas: [] },
  { service: 'graph', state: 'unbuilt', replicas: [] },
  { service: 'media', state: 'unbuilt', replicas: [] },
];
const serving: Behaviour = { call: ({ method }) => RESULTS.get(method), services: SERVICES };

function runs(url: string, pid: number, token = TOKEN): void {
  const process = { service: 'embedded', replica: 'r1', pid, ports: { http: 1 }, log: 'logs/a.log' };
  writeFileSync(join(data, 'run.json'), JSON.stringify({ url, processes: [process] }));
  writeFileSync(join(data, 'token'), token);
}

const status = (args: string[] = []) => runCommand(['status', ...args], { cwd: data, env: { SWITCHYARD_DATA: data } });

const readiness = { ready: true, status: 'ready', dependencies: { bus: { ready: true, since: 1 }, store: { ready: true, since: 1 } } };
const lacking = { ready: false, status: 'unavailable', dependencies: { store: { ready: false, since: 1, reason: 'not connected' } } };

test('exits with 1 if a service is down', async () => {
  await using server = await startServer(serving);
  runs(server.url, process.pid);
  const { code, stdout, stderr } = await status();
  assert.equal(code, 1);
  assert.match(stderr, /^error: The server is ready, but registry is down: no replica answers\.\n {2}next: .*switchyard doctor\n$/);
  for (const line of [
    `server +${server.url} +ready`,
    `process +embedded r1 +pid ${process.pid} alive +http 1 +logs/a.log`,
    'bus +ready',
    'service +gateway +gateway-a  0.1.0  pid 11 on here  up 5 min',
    'service +sessions +sessions-a  0.1.0  pid 12 on here  up 5 min',
    'service +sessions +sessions-b  0.1.0  pid 13 on here  up 5 min',
    'service +registry +down: no replica answers',
    'not built +graph media  \\(not implemented yet\\)',
    'agents +default helper',
    'providers +dev answers, offline; known: openai',
    'up +5 min, 105 MB, Node v24.0.0 .*',
  ])
    assert.match(stdout, new RegExp(`^${line}$`, 'm'));
  const json = JSON.parse((await status(['-o', 'json'])).stdout) as Record<string, unknown>;
  assert.deepEqual(
    [json['ready'], json['agents'], json['providers'], json['registry'], (json['services'] as typeof SERVICES).map(({ state }) => state)],
    [true, ['default', 'helper'], ['dev', 'openai'], registry, SERVICES.map(({ state }) => state)],
  );
});

test('exits with 0 if all services and replicas are ready', async () => {
  const replicas = [
    { ...replica('sessions-a', 12), readiness },
    { ...replica('sessions-b', 13), readiness: lacking },
  ];
  const all = [
    { service: 'sessions', state: 'up', replicas },
    { service: 'graph', state: 'unbuilt', replicas: [] },
  ];
  const services = [{ service: 'sessions', state: 'up', replicas: replicas.slice(0, 1) }];
  await using well = await startServer({ ...serving, services });
  runs(well.url, process.pid);
  const good = await status();
  assert.deepEqual([good.code, good.stderr], [0, '']);
  assert.match(good.stdout, /^service +sessions +sessions-a .* up 5 min {2}ready$/m);
  assert.equal((await runCommand(['doctor'], { cwd: data, env: { SWITCHYARD_DATA: data } })).stdout.includes('✗ services'), false);

  await using ill = await startServer({ ...serving, services: all });
  runs(ill.url, process.pid);
  const bad = await status();
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^service +sessions +sessions-b .* up 5 min {2}store: not connected$/m);
  assert.match(bad.stderr, /The server is ready, but sessions sessions-b lacks store: not connected\./);
  const doctor = await runCommand(['doctor'], { cwd: data, env: { SWITCHYARD_DATA: data } });
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /^✗ services +sessions sessions-b lacks store: not connected$/m);
});

test('exits with 1 and prints missing dependencies if not ready', async () => {
  const body = { status: 'draining', dependencies: { bus: { ready: false, reason: 'not connected' } } };
  await using server = await startServer({ ...serving, readiness: { code: 503, body } });
  runs(server.url, process.pid);
  const { code, stdout, stderr } = await status();
  assert.equal(code, 1);
  assert.match(stdout, /^bus +not connected$/m);
  assert.match(stderr, /is not ready \(draining\)\.\n {2}next: .*switchyard doctor/);
});

test('prints the status also with a rejected token or without scope admin', async () => {
  await using server = await startServer({
    call({ method }) {
      if (method === 'agents.list') return RESULTS.get(method);
      throw {
        code: -32603,
        message: "Insufficient scope: requires 'admin'",
        data: { code: 'PERMISSION_DENIED', requestId: 'r', retryable: false },
      };
    },
  });
  runs(server.url, process.pid);
  const lacking = await status();
  assert.equal(lacking.code, 0);
  assert.match(lacking.stdout, /^agents +default helper\n/m);
  assert.match(lacking.stdout, /^not known +Insufficient scope/m);
  runs(server.url, process.pid, 'another');
  assert.match((await status()).stdout, /^not known +http.* no longer accepts the token saved in .*, because it was rotated or revoked/m);
});

test('exits with 1 and suggests start when nothing runs', async () => {
  const gone = await startServer();
  await gone[Symbol.asyncDispose]();
  rmSync(join(data, 'run.json'), { force: true });
  const never = await status(['--url', gone.url]);
  assert.deepEqual([never.code, never.stdout], [1, '']);
  assert.match(never.stderr, /^error: No server runs at .*\n {2}next: .*switchyard start\n$/);

  const { pid } = spawnSync(process.execPath, ['--version']);
  runs(gone.url, pid);
  const past = await status();
  assert.equal(past.code, 1);
  assert.match(past.stdout, new RegExp(`pid ${pid} gone`));
  const json = await status(['-o', 'json']);
  assert.deepEqual([json.code, (JSON.parse(json.stdout) as { answers: boolean }).answers], [1, false]);

  runs(gone.url, process.pid);
  assert.match((await status()).stderr, /Process \d+ runs, but .* does not answer .*\n {2}next: tail logs\/a\.log/);
});
