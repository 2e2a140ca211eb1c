import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { ConnectionProgress } from './connection-progress.ts';

const LARGE = 'x'.repeat(32 * 1024 * 1024);

interface Served {
  client: Socket;
  socket: Socket;
  request: IncomingMessage;
  response: ServerResponse;
  progress: ConnectionProgress;
}

/** Accepts one request of these bytes. The client reads only when it is resumed. */
async function serve(t: TestContext, bytes: string): Promise<Served> {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  t.after(() => client.destroy());
  client.on('error', () => undefined).pause();
  client.write(bytes);
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const progress = new ConnectionProgress();
  progress.onRequest(request, response, 0);
  return { client, socket: request.socket, request, response, progress };
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('destroys a connection whose client does not read its response, and lets it be evicted before', async (t) => {
  const { response, progress } = await serve(t, GET);
  response.end(LARGE);
  progress.check(50, 1_000);
  progress.check(50, 5_999);
  assert.equal(progress.isEvictable(5_999), false);
  assert.equal(progress.isEvictable(6_000), true);
  await once(response, 'close');
  assert.equal(response.writableFinished, false);
});

test('sends a large response to a slow client completely', async (t) => {
  const { client, response, progress } = await serve(t, GET);
  const complete = Promise.withResolvers<void>();
  let bytes = 0;
  client.on('data', (part: Buffer) => {
    bytes += part.length;
    progress.check(200, bytes);
    if (bytes > LARGE.length) return complete.resolve();
    client.pause();
    setTimeout(() => client.resume(), 1);
  });
  client.on('close', () => complete.reject(new Error(`closed after ${bytes} bytes`)));
  response.end(LARGE);
  client.resume();
  await complete.promise;
});

test('stops the timeout when the client has read all, so that it may wait for the next part', async (t) => {
  const { client, socket, response, progress } = await serve(t, GET);
  response.write(LARGE);
  progress.check(60_000, 0);
  assert.equal(socket.timeout, 60_000);
  client.resume();
  await once(response, 'drain');
  progress.check(60_000, 1);
  assert.equal(socket.timeout, 0);
  assert.equal(progress.isEvictable(60_000), false);
});

test('a request whose body does not arrive is evictable after five seconds', async (t) => {
  const { progress } = await serve(t, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
  assert.equal(progress.isEvictable(4_999), false);
  assert.equal(progress.isEvictable(5_000), true);
});

test('a complete request that waits for its response is not evictable', async (t) => {
  const { request, response, progress } = await serve(t, GET);
  request.resume();
  await once(request, 'end');
  assert.equal(progress.isEvictable(600_000), false);
  response.end('short');
  await once(response, 'finish');
  assert.equal(progress.isEvictable(600_000), true);
});
