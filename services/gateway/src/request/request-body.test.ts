import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { readBody } from './request-body.ts';
import type { Caller } from './caller.ts';
import { INCOMPLETE_BODY, TOO_MANY_BODY_PARTS, BODY_TOO_LARGE, RefusalError, TOO_MANY_INCOMPLETE_BYTES } from './refusal.ts';

interface Read {
  error: Error | null;
  body: string | undefined;
  /** The stream state: null if the stream never flowed. */
  flowing: boolean | null;
  /** The buffered bytes. */
  bufferedBytes: number;
  /** The incomplete bytes of the client afterwards. */
  incompleteBytes: number;
}

/** A client with this many incomplete bytes. */
function createClient(incompleteBytes = 0): Caller {
  return { incompleteBytes } as Caller;
}

/** The result of `readBody` for a request in these pieces. Each piece is sent after the previous one was received. */
async function read(t: TestContext, pieces: readonly string[], limit = 1_000, caller = createClient()): Promise<Read> {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => socket.destroy());
  const result = Promise.withResolvers<Read>();
  server.on('request', (request: IncomingMessage, response) => {
    readBody(request, { limit, caller }, (error, body) => {
      const bufferedBytes = body?.buffer.byteLength ?? 0;
      result.resolve({
        error,
        body: body?.toString(),
        flowing: request.readableFlowing,
        bufferedBytes,
        incompleteBytes: caller.incompleteBytes,
      });
      response.end();
    });
    const [, ...rest] = pieces;
    for (const piece of rest)
      if (piece === '') socket.destroy();
      else socket.write(piece);
  });
  socket.write(pieces[0] ?? '');
  return result.promise;
}

const head = (...fields: string[]): string => ['POST / HTTP/1.1', 'host: a', ...fields, '', ''].join('\r\n');

test('reads a short body that arrived with its headers', async (t) => {
  const { error, body, flowing } = await read(t, [head('content-length: 5') + 'hello']);
  assert.deepEqual([error, body, flowing], [null, 'hello', null]);
});

test('waits for a body that arrives later or in parts', async (t) => {
  const { error, body } = await read(t, [head('content-length: 5') + 'he', 'l', 'lo']);
  assert.deepEqual([error, body], [null, 'hello']);
});

test('reads a chunked body to its end', async (t) => {
  const { error, body } = await read(t, [`${head('transfer-encoding: chunked')}2\r\nhe\r\n`, '3\r\nllo\r\n', '0\r\n\r\n']);
  assert.deepEqual([error, body], [null, 'hello']);
});

for (const field of ['content-length: 0', 'x-nothing: 1']) {
  test(`reads a missing body as empty (${field})`, async (t) => {
    const { error, body } = await read(t, [head(field)]);
    assert.deepEqual([error, body], [null, '']);
  });
}

for (const pieces of [
  [head('content-length: 6') + 'longer'],
  [head('content-length: 6') + 'long', 'er'],
  [head('content-length: 900000000')],
]) {
  test(`refuses a body above the limit: ${JSON.stringify(pieces.join('|').slice(-14))}`, async (t) => {
    const { error, body } = await read(t, pieces, 5);
    assert.ok(error instanceof RefusalError);
    assert.deepEqual([error.refusal, body], [BODY_TOO_LARGE, undefined]);
  });
}

test('stops reading a body far above the limit', async (t) => {
  const endless = `${head('transfer-encoding: chunked')}2000000\r\n${'x'.repeat(0x2000000)}`;
  const { error } = await read(t, [endless], 5);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, BODY_TOO_LARGE);
});

test('reports a body whose client disconnected as incomplete', async (t) => {
  const { error } = await read(t, [head('content-length: 5') + 'he', '']);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, INCOMPLETE_BODY);
});

const ONE_BYTE_CHUNK = '1\r\nx\r\n';
const chunked = head('transfer-encoding: chunked');

test('buffers a body in one-byte chunks without overhead per chunk', async (t) => {
  const { error, body, bufferedBytes } = await read(t, [`${chunked}${ONE_BYTE_CHUNK.repeat(4_000)}0\r\n\r\n`], 1_000_000);
  assert.deepEqual([error, body], [null, 'x'.repeat(4_000)]);
  assert.ok(bufferedBytes <= 8_192, `${bufferedBytes} bytes are buffered`);
});

test('stops reading a body of a million one-byte chunks', async (t) => {
  const { error } = await read(t, [`${chunked}${ONE_BYTE_CHUNK.repeat(1_000_000)}0\r\n\r\n`], 2_000_000);
  assert.ok(error instanceof RefusalError);
  assert.equal(error.refusal, TOO_MANY_BODY_PARTS);
});

test('reads a large body in parts of network size', async (t) => {
  const part = 'y'.repeat(1_400);
  const { error, body } = await read(t, [`${chunked}${`578\r\n${part}\r\n`.repeat(700)}0\r\n\r\n`], 1_000_000);
  assert.deepEqual([error, body], [null, part.repeat(700)]);
});

test('limits the incomplete bytes of a client over all its requests, and releases them', async (t) => {
  const parts = [`${head('content-length: 10000')}${'a'.repeat(5_000)}`, 'b'.repeat(5_000)];
  const { error, incompleteBytes } = await read(t, parts, 10_000, createClient(32 * 1024 * 1024 - 1));
  assert.ok(error instanceof RefusalError);
  assert.deepEqual([error.refusal, incompleteBytes], [TOO_MANY_INCOMPLETE_BYTES, 32 * 1024 * 1024 - 1]);
  const completed = await read(t, parts, 10_000);
  assert.deepEqual([completed.error, completed.incompleteBytes, completed.body?.length], [null, 0, 10_000]);
  assert.equal((await read(t, [parts[0] ?? '', ''], 10_000)).incompleteBytes, 0, 'also after a disconnect');
});
