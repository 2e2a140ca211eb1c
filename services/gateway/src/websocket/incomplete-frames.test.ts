import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Caller } from '../request/caller.ts';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { controlFrame, frameBytes, framesDone } from './incomplete-frames.ts';

const ping = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', method: 'system.ping', id });

test('a message that is begun and not finished counts against its client over all connections, who is cut off when it is too much', async () => {
  await using gateway = await startTestGateway();
  const part = Buffer.alloc(2_000_000, 'x');
  const begun = await Promise.all(Array.from({ length: 20 }, () => gateway.connect(SECRETS.rpc)));
  const other = await gateway.connect(SECRETS.all);
  for (const { socket } of begun) socket.send(part, { fin: false, binary: false });
  const { code } = await Promise.race(begun.map(({ closed }) => closed));
  assert.equal(code, 1008);
  assert.equal((await other.ask(ping(1))).id, 1);
  // What is cut off is held for as long as its closing takes.
  while ((heldBy(gateway) ?? 0) > 32 * 1024 * 1024) await setImmediate();
  for (const { socket } of begun) socket.terminate();
});

test('a message that is finished is no longer counted, with pings in the middle of it', async () => {
  await using gateway = await startTestGateway();
  const { socket, next } = await gateway.connect(SECRETS.rpc);
  for (let n = 0; n < 3; n++) {
    socket.send('[', { fin: false });
    socket.ping('still there');
    socket.send(`${ping(n)}]`, { fin: true });
    await next();
  }
  assert.equal(heldBy(gateway), 0);
});

test('a ping is part of no message: whoever sends nothing else holds nothing', async () => {
  await using gateway = await startTestGateway();
  const { socket } = await gateway.connect(SECRETS.rpc);
  for (let n = 0; n < 3; n++) {
    socket.ping('still there');
    await once(socket, 'pong');
  }
  assert.equal(heldBy(gateway), 0);
  socket.send('[', { fin: false });
  socket.ping('still there');
  await once(socket, 'pong');
  assert.equal(heldBy(gateway), 7, 'a byte and its head');
});

test('a ping that was read together with the end of a message gives back no more than is held', () => {
  const sender = { socket: {} as WebSocket, caller: { unfinished: 0 } as Caller, held: 0 };
  frameBytes(sender, 100, 1_000);
  framesDone(sender);
  controlFrame(sender, Buffer.from('still there'));
  assert.deepEqual([sender.held, sender.caller.unfinished], [0, 0]);
});

/** What the client holds over all its connections. */
function heldBy({ gateway }: TestGateway): number | undefined {
  const [connection] = gateway.connections.byClient({ key: 'default.rpc' } as Caller) ?? [];
  return connection?.caller.unfinished;
}
