import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { examine, freshData, root, serving } from './doctor.fixture.ts';
import { checkData, checkNode, checkPackages } from './machine-checks.ts';
import { checkClock } from './server-checks.ts';
import { runCommand, startServer, TOKEN } from '../../command.fixture.ts';

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
