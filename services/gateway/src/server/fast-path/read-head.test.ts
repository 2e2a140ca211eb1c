import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { readHead } from './read-head.ts';

const PLAIN = ['host: a', 'authorization: Bearer x', 'content-type: application/json', 'content-length: 5'];
const lines = (...fields: string[]): string => fields.map((field) => `${field}\r\n`).join('');
const BODY = 'hello';

test('a plain head is read', () => {
  const head = readHead(lines('Host: a', 'Content-Length:5', 'X-Empty:', 'x-two:  words here\t', 'Connection: Keep-Alive'));
  assert.equal(head?.length, 5);
  assert.deepEqual(
    { ...head?.headers },
    { host: 'a', 'content-length': '5', 'x-empty': '', 'x-two': 'words here', connection: 'Keep-Alive' },
  );
});

const NOT_PLAIN = {
  'no host': lines('content-length: 5'),
  'no length': lines('host: a'),
  'two lengths': lines(...PLAIN, 'content-length: 5'),
  'two lengths that differ in case': lines(...PLAIN, 'Content-Length: 6'),
  'two hosts': lines(...PLAIN, 'host: b'),
  'a length with a sign': lines('host: a', 'content-length: +5'),
  'two lengths in one': lines('host: a', 'content-length: 5, 5'),
  'a length in hexadecimal': lines('host: a', 'content-length: 0x5'),
  'a length beyond what is short': lines('host: a', 'content-length: 99999999'),
  chunks: lines(...PLAIN, 'transfer-encoding: chunked'),
  'chunks, spelled otherwise': lines(...PLAIN, 'Transfer-Encoding: identity'),
  'a space before the colon': lines(...PLAIN, 'x-a : b'),
  'a space before the name': lines(...PLAIN, ' x-a: b'),
  'a folded line': lines(...PLAIN, 'x-a: b', '\tc'),
  'a line without a colon': lines(...PLAIN, 'x-a'),
  'a name that is none': lines(...PLAIN, ': b'),
  'a line that ends in LF': `${lines(...PLAIN)}x-a: b\n`,
  'a CR in a value': lines(...PLAIN, 'x-a: b\rx-c: d'),
  'a LF in a value': lines(...PLAIN, 'x-a: b\ntransfer-encoding: chunked'),
  'a NUL': lines(...PLAIN, 'x-a: b\0'),
  'what is not ASCII': lines(...PLAIN, 'x-a: \xe9'),
  'an upgrade': lines(...PLAIN, 'upgrade: websocket'),
  'an expectation': lines(...PLAIN, 'expect: 100-continue'),
  'the last request': lines(...PLAIN, 'connection: close'),
  'headers of the hop': lines(...PLAIN, 'connection: keep-alive, x-a'),
  'too many': lines(...PLAIN, ...Array.from({ length: 100 }, (_, at) => `x-${at}: 1`)),
};

for (const [what, text] of Object.entries(NOT_PLAIN)) test(`${what} is left to Node`, () => assert.equal(readHead(text), undefined));

/** What Node makes of the bytes of a connection; undefined where that is not one whole request. */
async function readByNode(text: string): Promise<{ headers: object; body: string } | undefined> {
  let request: IncomingMessage | undefined;
  let count = 0;
  const server = createServer((incoming) => {
    request = incoming;
    count += 1;
  });
  let broken = false;
  server.on('clientError', () => (broken = true));
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.emit('connection', socket);
  socket.push(Buffer.from(text, 'latin1'));
  await setImmediate();
  const whole = request?.complete === true && count === 1 && !broken ? request : undefined;
  const read = whole && { headers: whole.headers, body: (await buffer(whole)).toString('latin1') };
  socket.destroy();
  return read;
}

const hostile = fc.constantFrom(
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  ',',
  '\0',
  '\xff',
  '5',
  'content-length: 5\r\n',
  'transfer-encoding: chunked\r\n',
  'host: b\r\n',
);
const change = fc.record({ at: fc.nat(200), drop: fc.nat(3), put: fc.oneof(hostile, fc.string({ maxLength: 4 })) });

test('whatever is read here, Node reads as the same', async () => {
  let plain = 0;
  const property = fc.asyncProperty(
    fc.shuffledSubarray(PLAIN, { minLength: 2 }),
    fc.array(change, { maxLength: 2 }),
    async (fields, changes) => {
      let text = lines(...fields);
      for (const { at, drop, put } of changes) text = text.slice(0, at) + put + text.slice(at + drop);
      const head = readHead(text);
      if (head === undefined || head.length !== BODY.length) return;
      plain += 1;
      const read = await readByNode(`POST / HTTP/1.1\r\n${text}\r\n${BODY}`);
      assert.deepEqual(read && { headers: { ...read.headers }, body: read.body }, { headers: { ...head.headers }, body: BODY });
    },
  );
  await fc.assert(property, { numRuns: 5_000 });
  assert.ok(plain > 500, `only ${plain} were plain`);
});
