import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { createJoinedText, openEventStream, type EventStream, type EventStreamOptions } from './sse.ts';

interface Opened extends AsyncDisposable {
  stream: EventStream;
  client: Socket;
  /** Resolves when the response has ended. */
  closed: Promise<void>;
  drained: Promise<void>;
}

/** Opens a stream to a client that does not read until it is resumed. */
async function open(options: Partial<EventStreamOptions> = {}): Promise<Opened> {
  const closed = Promise.withResolvers<void>();
  const drained = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<EventStream>();
  const app = fastify({ forceCloseConnections: true });
  app.get('/', (_request, reply) => {
    const streamOptions = {
      first: 'retry: 1\n\n',
      isAuthorized: () => true,
      onDrain: drained.resolve,
      onClose: closed.resolve,
      ...options,
    };
    opened.resolve(openEventStream(reply.header('x-from', 'hook'), streamOptions));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const client = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => undefined).pause();
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return {
    stream: await opened.promise,
    client,
    closed: closed.promise,
    drained: drained.promise,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await app.close();
    },
  };
}

async function fill(stream: EventStream): Promise<void> {
  while (!stream.needsDrain) {
    stream.write(`data: ${'x'.repeat(65_536)}\n\n`);
    await new Promise(setImmediate);
  }
}

test('sends the headers, headers of hooks and the first block immediately', async () => {
  await using s = await open({ headers: { 'x-extra': '1' } });
  const [head] = (await once(s.client.resume(), 'data')) as [Buffer];
  const text = head.toString();
  for (const line of [
    'HTTP/1.1 200',
    'content-type: text/event-stream',
    'cache-control: no-store',
    'x-accel-buffering: no',
    'x-from: hook',
    'x-extra: 1',
    'retry: 1',
  ]) {
    assert.ok(text.includes(line), line);
  }
});

test('sends comments on a quiet stream', async () => {
  await using s = await open({ tickMs: 1 });
  s.client.resume();
  for await (const chunk of s.client) if (String(chunk).includes(': ping\n\n')) break;
});

test('joins text for a lagging client and sends it when the client has caught up', async () => {
  await using s = await open({ onDrain: () => text.flush() });
  const sent: string[] = [];
  const text = createJoinedText(s.stream, { send: (piece) => sent.push(piece) });
  text.add('a');
  assert.deepEqual(sent, ['a']);
  await fill(s.stream);
  text.add('b');
  text.add('c');
  assert.deepEqual(sent, ['a']);
  s.client.resume();
  while (sent.length < 2) await once(s.client, 'data');
  assert.deepEqual(sent, ['a', 'bc']);
});

test('closes the connection of a lagging client above the buffer limit', async () => {
  await using s = await open();
  const text = createJoinedText(s.stream, { send: (piece) => s.stream.write(piece) });
  await fill(s.stream);
  for (let n = 0; n < 1_025; n++) text.add('x'.repeat(1_024));
  await s.closed;
});

test('closes the connection of a client that does not read', async () => {
  await using s = await open({ tickMs: 2 });
  await fill(s.stream);
  await s.closed;
});

test('closes the connection of a client that is no longer authorized', async () => {
  let authorized = true;
  await using s = await open({ tickMs: 2, isAuthorized: () => authorized });
  s.client.resume();
  authorized = false;
  await s.closed;
});

test('ignores writes after a disconnect', async () => {
  await using s = await open();
  s.client.destroy();
  await s.closed;
  s.stream.write('data: late\n\n');
  s.stream.end('data: later\n\n');
  await new Promise(setImmediate);
});

test('calls onClose of a waiting pipelined response when the connection closes', { timeout: 60_000 }, async () => {
  const closed: string[] = [];
  const bothClosed = Promise.withResolvers<void>();
  const secondOpened = Promise.withResolvers<void>();
  const app = fastify({ forceCloseConnections: true });
  app.get('/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    const onClose = (): void => {
      if (closed.push(name) === 2) bothClosed.resolve();
    };
    openEventStream(reply, { first: ': hello\n\n', isAuthorized: () => true, onDrain: () => undefined, onClose });
    if (name === 'second') secondOpened.resolve();
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  await using _open = { [Symbol.asyncDispose]: () => app.close() };
  const client = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n');
  await secondOpened.promise;
  client.destroy();
  await bothClosed.promise;
  assert.deepEqual(closed.toSorted(), ['first', 'second']);
});
