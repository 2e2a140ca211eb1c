import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setStallTimeout } from './response-timeout.ts';

const LARGE = 'x'.repeat(32 * 1024 * 1024);

/** Responds to one request with far more bytes than the network buffers. */
async function serveOnce(stallMs: number) {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    setStallTimeout(response, LARGE.length, stallMs);
    response.end(LARGE);
    answered.resolve(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => undefined).pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return { client, server, response: await answered.promise };
}

test('closes the connection of a large response that is not read', async () => {
  const { client, server, response } = await serveOnce(50);
  await once(response, 'close');
  assert.equal(response.writableFinished, false);
  client.destroy();
  server.close();
});

test('sends a large response to a slow client completely', async () => {
  const { client, server } = await serveOnce(200);
  const whole = Promise.withResolvers<void>();
  let bytes = 0;
  client.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > LARGE.length) return whole.resolve();
    client.pause();
    setTimeout(() => client.resume(), 1);
  });
  client.on('close', () => whole.reject(new Error(`cut off after ${bytes} bytes`))).resume();
  await whole.promise;
  client.destroy();
  server.close();
});
