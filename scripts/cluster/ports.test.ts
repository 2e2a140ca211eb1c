import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { openPorts } from './ports.ts';

test('openPorts returns no port twice, also when a port is requested by number', async () => {
  await using ports = await openPorts();
  const requests = [ports.one(), ports.one(), ports.one()];
  const first = await Promise.all(requests);
  const all = [...first, ...(await ports.many(60)), await ports.one(first[0])];
  assert.equal(new Set(all).size, 64);
});

test('launchers that start at the same time choose different ports', async () => {
  await using stack = new AsyncDisposableStack();
  const chosen: number[] = [];
  for (let at = 0; at < 8; at++) chosen.push(...(await stack.use(await openPorts()).many(20)));
  assert.equal(new Set(chosen).size, 160);
});

test('openPorts skips a port that is in use', async () => {
  await using ports = await openPorts();
  const next = (await ports.one()) + 1;
  const server = createServer();
  await once(server.listen(next, '127.0.0.1'), 'listening');
  const given = await ports.one(next);
  server.close();
  assert.notEqual(given, next);
});
