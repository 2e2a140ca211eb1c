import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const logs = (url: string, ...args: string[]) => runCommand(['logs', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

test('level sets the level of one or all modules', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { updated: true, level: call.params['level'] }) });
  assert.equal((await logs(server.url, 'level', 'debug', 'sessions')).stdout, 'sessions: log level debug until the next start\n');
  assert.equal((await logs(server.url, 'level', 'warn')).stdout, 'All modules: log level warn until the next start\n');
  assert.deepEqual(JSON.parse((await logs(server.url, 'level', 'warn', '-o', 'json')).stdout), { updated: true, level: 'warn' });
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['daemon.setLogLevel', { level: 'debug', module: 'sessions' }],
      ['daemon.setLogLevel', { level: 'warn' }],
      ['daemon.setLogLevel', { level: 'warn' }],
    ],
  );
});

test('rejects an unknown level or module with a suggestion', async () => {
  await using server = await startServer();
  const debig = await logs(server.url, 'level', 'debig');
  assert.deepEqual([debig.code, debig.stderr.includes('Did you mean debug?')], [2, true]);
  assert.match((await logs(server.url, 'level', 'debug', 'sesions')).stderr, /Did you mean sessions\?/);
  for (const words of [[], ['level'], ['burn'], ['show', 'sesions'], ['level', 'debug', 'bus', 'x']])
    assert.equal((await logs(server.url, ...words)).code, 2);
  for (const level of ['debug', 'fatal', 'telemetry']) assert.ok((await logs(server.url, '--help')).stdout.includes(level));
});

test('show prints the newest matching lines of local processes', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'logs-'));
  const log = join(dir, 'switchyard.log');
  const at = 1763719200000;
  const lines = [
    { level: 30, time: at, module: 'gateway', msg: 'serving', port: 1 },
    { level: 40, time: at + 1, module: 'sessions', msg: 'late', requestId: 'req_1' },
    { level: 50, time: at + 2, module: 'gateway', msg: 'broken', requestId: 'req_1' },
  ];
  try {
    writeFileSync(log, `${lines.map((line) => JSON.stringify(line)).join('\n')}\nno JSON\n{"half`);
    writeFileSync(
      join(dir, 'run.json'),
      JSON.stringify({ url: 'http://127.0.0.1:1', processes: [{ service: 'embedded', replica: 'a', pid: 1, ports: {}, log }] }),
    );
    const show = async (...words: string[]) => (await runCommand(['logs', 'show', '--data', dir, ...words], { cwd })).stdout;
    assert.equal(await show('--lines', '1'), '10:00:00.002 error gateway    broken  requestId=req_1\n');
    assert.match(await show('gateway', '--level', 'warn'), /^\S+ error .*broken[^\n]*\n$/);
    assert.equal(
      (await show('--request', 'req_1', '--json')).trimEnd(),
      lines
        .slice(1)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    );
    const nowhere = await runCommand(['logs', 'show', '--data', tmpdir()], { cwd });
    assert.deepEqual([nowhere.code, /has a log file/.test(nowhere.stderr)], [1, true]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
