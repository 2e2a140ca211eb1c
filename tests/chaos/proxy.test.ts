import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openProxy } from './proxy.ts';

/** Echoes and records each line. */
async function startEcho() {
  const texts: string[] = [];
  const server = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .on('data', (data: Buffer) => {
        texts.push(data.toString());
        socket.write(data);
      }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { said: texts, port, [Symbol.dispose]: () => void server.close() };
}

test('a proxy forwards everything; while it drops responses, requests arrive and then the connection breaks', async () => {
  using echo = await startEcho();
  await using proxy = await openProxy({ host: '127.0.0.1', port: echo.port });
  const client = connect(proxy.port, '127.0.0.1');
  client.write('one');
  assert.deepEqual(String((await once(client, 'data'))[0]), 'one');

  const lost = proxy.loseReplies(50);
  const broken = new Promise((resolve) => void client.on('error', () => undefined).on('close', resolve));
  client.on('data', () => assert.fail('an answer came'));
  client.write('two');
  await lost;
  await broken;
  assert.deepEqual(echo.said, ['one', 'two']);

  const next = connect(proxy.port, '127.0.0.1');
  next.write('three');
  assert.deepEqual(String((await once(next, 'data'))[0]), 'three');
  next.destroy();
});
