import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { readBody } from './request-body.ts';
import type { Caller } from './caller.ts';
import { BODY_BROKEN, BODY_IN_CRUMBS, BODY_TOO_LARGE, RefusalError, TOO_MUCH_UNFINISHED } from './refusal.ts';

interface Read {
  error: Error | null;
  body: string | undefined;
  /** How it was read: null when nothing ever flowed. */
  flowing: boolean | null;
  /** How much was kept for it. */
  kept: number;
  /** What the client has unfinished afterwards. */
  unfinished: number;
}

/** A client that has so many bytes unfinished already. */
function client(unfinished = 0): Caller {
  return { unfinished } as Caller;
}

/** What `readBody` makes of a request that arrives in these pieces; each is sent when the one before was seen. */
async function read(t: TestContext, pieces: readonly string[], limit = 1_000, caller = client()): Promise<Read> {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => socket.destroy());
  const done = Promise.withResolvers<Read>();
  server.on('request', (request: IncomingMessage, response) => {
    readBody(request, { limit, caller }, (error, body) => {
      const kept = body?.buffer.byteLength ?? 0;
      done.resolve({ error, body: body?.toString(), flowing: request.readableFlowing, kept, unfinished: caller.unfinished });
      response.end();
    });
    const [, ...rest] = pieces;
    for (const piece of rest)
      if (piece === '') socket.destroy();
      else socket.write(piece);
  });
  socket.write(pieces[0] ?? '');
  return done.promise;
}

const head = (...fields: string[]): string => ['POST / HTTP/1.1', 'host: a', ...fields, '', ''].join('\r\n');

test('a short body that came with its headers is taken as it came', async (t) => {
  const { error, body, flowing } = await read(t, [head('content-length: 5') + 'hello']);
  assert.deepEqual([error, body, flowing], [null, 'hello', null]);
});

test('one that comes later, or in parts, is waited for', async (t) => {
  const { error, body } = await read(t, [head('content-length: 5') + 'he', 'l', 'lo']);
  assert.deepEqual([error, body], [null, 'hello']);
});

test('one whose length is told by chunks is read to its end', async (t) => {
  const { error, body } = await read(t, [`${head('transfer-encoding: chunked')}2\r\nhe\r\n`, '3\r\nllo\r\n', '0\r\n\r\n']);
  assert.deepEqual([error, body], [null, 'hello']);
});

for (const field of ['content-length: 0', 'x-nothing: 1']) {
  test(`none at all is empty (${field})`, async (t) => {
    const { error, body } = await read(t, [head(field)]);
    assert.deepEqual([error, body], [null, '']);
  });
}

for (const pieces of [
  [head('content-length: 6') + 'longer'],
  [head('content-length: 6') + 'long', 'er'],
  [head('content-length: 900000000')],
]) {
  test(`more than the limit is refused: ${JSON.stringify(pieces.join('|').slice(-14))}`, async (t) => {
    const { error, body } = await read(t, pieces, 5);
    assert.ok(error instanceof RefusalError);
    assert.deepEqual([error.refusal, body], [BODY_TOO_LARGE, undefined]);
  });
}

test('far more than the limit is not read to its end', async (t) => {
  const endless = `${head('transfer-encoding: chunked')}2000000\r\n${'x'.repeat(0x2000000)}`;
  const { error } = await read(t, [endless], 5);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, BODY_TOO_LARGE);
});

test('a client that leaves half-way is no failure of ours', async (t) => {
  const { error } = await read(t, [head('content-length: 5') + 'he', '']);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, BODY_BROKEN);
});

const ONE_BYTE_CHUNK = '1\r\nx\r\n';
const chunked = head('transfer-encoding: chunked');

test('a body in chunks of one byte is kept in what its bytes need', async (t) => {
  const { error, body, kept } = await read(t, [`${chunked}${ONE_BYTE_CHUNK.repeat(4_000)}0\r\n\r\n`], 1_000_000);
  assert.deepEqual([error, body], [null, 'x'.repeat(4_000)]);
  assert.ok(kept <= 8_192, `${kept} bytes are kept`);
});

test('one in a million such chunks is not read to its end', async (t) => {
  const { error } = await read(t, [`${chunked}${ONE_BYTE_CHUNK.repeat(1_000_000)}0\r\n\r\n`], 2_000_000);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, BODY_IN_CRUMBS);
});

test('a large body in parts as networks make them is read', async (t) => {
  const part = 'y'.repeat(1_400);
  const { error, body } = await read(t, [`${chunked}${`578\r\n${part}\r\n`.repeat(700)}0\r\n\r\n`], 1_000_000);
  assert.deepEqual([error, body], [null, part.repeat(700)]);
});

test('what a client has unfinished is bounded over all its requests, and given back', async (t) => {
  const parts = [`${head('content-length: 10000')}${'a'.repeat(5_000)}`, 'b'.repeat(5_000)];
  const { error, unfinished } = await read(t, parts, 10_000, client(32 * 1024 * 1024 - 1));
  assert.ok(error instanceof RefusalError);
  assert.deepEqual([error.refusal, unfinished], [TOO_MUCH_UNFINISHED, 32 * 1024 * 1024 - 1]);
  const whole = await read(t, parts, 10_000);
  assert.deepEqual([whole.error, whole.unfinished, whole.body?.length], [null, 0, 10_000]);
  assert.equal((await read(t, [parts[0] ?? '', ''], 10_000)).unfinished, 0, 'also by one that left');
});
