import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Caller } from '../request/caller.ts';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { releaseControlFrame, addFrameBytes, releaseFrameBytes } from './incomplete-frames.ts';

const ping = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });

test('closes a connection when the incomplete messages of its client exceed the limit', async () => {
  await using gateway = await startTestGateway();
  const part = Buffer.alloc(2_000_000, 'x');
  const sockets = await Promise.all(Array.from({ length: 20 }, () => gateway.connect(SECRETS.rpc)));
  const otherSocket = await gateway.connect(SECRETS.all);
  for (const { socket } of sockets) socket.send(part, { fin: false, binary: false });
  const { code } = await Promise.race(sockets.map(({ closed }) => closed));
  assert.equal(code, 1008);
  assert.equal((await otherSocket.request(ping(1))).id, 1);
  // The bytes of a closed connection are released when its closing completes.
  while ((getIncompleteBytes(gateway) ?? 0) > 32 * 1024 * 1024) await setImmediate();
  for (const { socket } of sockets) socket.terminate();
});

test('releases the bytes of a completed message with pings inside it', async () => {
  await using gateway = await startTestGateway();
  const { socket, next } = await gateway.connect(SECRETS.rpc);
  for (let n = 0; n < 3; n++) {
    socket.send('[', { fin: false });
    socket.ping('still there');
    socket.send(`${ping(n)}]`, { fin: true });
    await next();
  }
  assert.equal(getIncompleteBytes(gateway), 0);
});

test('does not count pings as incomplete bytes', async () => {
  await using gateway = await startTestGateway();
  const { socket } = await gateway.connect(SECRETS.rpc);
  for (let n = 0; n < 3; n++) {
    socket.ping('still there');
    await once(socket, 'pong');
  }
  assert.equal(getIncompleteBytes(gateway), 0);
  socket.send('[', { fin: false });
  socket.ping('still there');
  await once(socket, 'pong');
  assert.equal(getIncompleteBytes(gateway), 7, 'one byte and its frame header');
});

test('a ping after a completed message does not make the count negative', () => {
  const sender = { socket: {} as WebSocket, caller: { incompleteBytes: 0 } as Caller, incompleteBytes: 0, incompleteSince: 0 };
  addFrameBytes(sender, 100, 1_000);
  releaseFrameBytes(sender);
  releaseControlFrame(sender, Buffer.from('still there'));
  assert.deepEqual([sender.incompleteBytes, sender.caller.incompleteBytes], [0, 0]);
});

/** The incomplete bytes of the client. */
function getIncompleteBytes({ gateway }: TestGateway): number | undefined {
  const [connection] = gateway.connections.byClient({ key: 'default.rpc' } as Caller) ?? [];
  return connection?.caller.incompleteBytes;
}
