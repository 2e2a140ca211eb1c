import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { readBody } from './body.ts';
import { BODY_BROKEN, BODY_TOO_LARGE, RefusalError } from './refusal.ts';

interface Read {
  error: Error | null;
  body: string | undefined;
  /** How it was read: null when nothing ever flowed. */
  flowing: boolean | null;
}

/** What `readBody` makes of a request that arrives in these pieces; each is sent when the one before was seen. */
async function read(t: TestContext, pieces: readonly string[], limit = 1_000): Promise<Read> {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => socket.destroy());
  const done = Promise.withResolvers<Read>();
  server.on('request', (request: IncomingMessage, response) => {
    readBody(request, limit, (error, body) => {
      done.resolve({ error, body: body?.toString(), flowing: request.readableFlowing });
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
  assert.deepEqual(await read(t, [head('content-length: 5') + 'hello']), { error: null, body: 'hello', flowing: null });
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
