import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';

const LARGE = Buffer.from(JSON.stringify('x'.repeat(1024 * 1024)));

/** Sends to the only connection until its client, which does not read, holds up the rest. */
async function fillBuffers({ gateway: { connections } }: TestGateway): Promise<void> {
  const [connection] = connections.all;
  assert.ok(connection);
  const stream = connection.stream as Socket;
  while (!stream.writableNeedDrain) {
    connections.sendAll(connection, [LARGE]);
    // The kernel takes what it has room for after the turn of the event loop in which it was sent.
    await setTimeout(10);
  }
}

test('closes a connection whose client does not read', { timeout: 60_000 }, async () => {
  await using gateway = await startTestGateway({ settings: { stallTimeoutMs: 100 } });
  const { socket } = await gateway.connect();
  socket.pause();
  await fillBuffers(gateway);
  while (gateway.gateway.connections.all.size > 0) await setImmediate();
  socket.resume();
  await once(socket, 'close');
});

test('closes a connection whose client does not complete a message', { timeout: 60_000 }, async () => {
  await using gateway = await startTestGateway({ settings: { requestTimeoutMs: 100 } });
  const [idle, slow] = [await gateway.connect(), await gateway.connect()];
  slow.socket.send('[', { fin: false });
  assert.equal((await slow.closed).code, 1008);
  assert.equal(gateway.gateway.connections.all.size, 1);
  idle.socket.send('{"jsonrpc":"2.0","method":"system.ping","id":1}');
  assert.ok(await idle.next());
});

/** Connects until the gateway accepts. Returns how long that took, in milliseconds. */
async function connectWhenAccepted(gateway: TestGateway): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const accepted = await gateway.connect(SECRETS.rpc).then(
      () => true,
      () => false,
    );
    if (accepted) return performance.now() - startedAt;
    await setTimeout(100);
  }
}

for (const [name, stall] of [
  ['does not read', (gateway) => fillBuffers(gateway)],
  ['does not complete a message', async (_gateway, socket) => socket.send('[', { fin: false })],
] satisfies [string, (gateway: TestGateway, socket: WebSocket) => Promise<void>][])
  test(`a connection whose client ${name} gives its place to a new one after five seconds`, { timeout: 60_000 }, async () => {
    await using gateway = await startTestGateway({ settings: { maxConnectionsPerToken: 1 } });
    const { socket } = await gateway.connect(SECRETS.rpc);
    socket.pause();
    await stall(gateway, socket);
    const acceptedAfterMs = await connectWhenAccepted(gateway);
    assert.ok(acceptedAfterMs > 4_000, 'a client that has just been seen to send or read keeps its place');
    assert.equal(gateway.gateway.connections.all.size, 1);
    socket.terminate();
  });
