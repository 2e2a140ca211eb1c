import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const logs = (url: string, ...args: string[]) => runCommand(['logs', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

test('level sets it in one module or everywhere, and says until when', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { updated: true, level: call.params['level'] }) });
  assert.equal((await logs(server.url, 'level', 'debug', 'sessions')).stdout, 'sessions logs debug and above, until the next start\n');
  assert.equal((await logs(server.url, 'level', 'warn')).stdout, 'everything logs warn and above, until the next start\n');
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

test('a level or a module that is none is wrong usage, with what was meant', async () => {
  await using server = await startServer();
  const debig = await logs(server.url, 'level', 'debig');
  assert.deepEqual([debig.code, debig.stderr.includes('did you mean debug?')], [2, true]);
  assert.match((await logs(server.url, 'level', 'debug', 'sesions')).stderr, /did you mean sessions\?/);
  for (const words of [[], ['level'], ['show'], ['level', 'debug', 'bus', 'x']]) assert.equal((await logs(server.url, ...words)).code, 2);
  for (const level of ['debug', 'fatal', 'telemetry']) assert.ok((await logs(server.url, '--help')).stdout.includes(level));
});
