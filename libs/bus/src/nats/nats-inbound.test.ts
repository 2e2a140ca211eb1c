import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kind, Parser, type MsgArg, type ParserEvent } from '@nats-io/nats-core/internal';
import fc from 'fast-check';
import { readWholeMessages, WholeHead } from './nats-inbound.ts';

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** What the client hears in such pieces, and how many of its messages were read at a glance. */
function hear(pieces: readonly Buffer[], atAGlance: boolean): { heard: string[]; whole: number } {
  const heard: string[] = [];
  let whole = 0;
  const protocol = {
    parser: undefined as unknown as Parser,
    processMsg(head: Pick<MsgArg, 'subject' | 'sid' | 'hdr' | 'size'> & { reply?: Uint8Array | undefined }, payload: Uint8Array) {
      const { subject, reply, sid, hdr, size } = head;
      if (head instanceof WholeHead) {
        whole++;
        assert.equal(head.subjectText(), decode(subject));
        assert.equal(head.replyText(), reply && decode(reply));
      }
      heard.push(JSON.stringify([decode(subject), reply && decode(reply), sid, hdr, size, decode(payload)]));
    },
    push({ kind, msg, data }: ParserEvent) {
      if (kind === Kind.MSG && msg && data) protocol.processMsg(msg, data);
      else heard.push(`${kind} ${data ? decode(data) : ''}`);
    },
  };
  protocol.parser = new Parser(protocol);
  if (atAGlance) readWholeMessages(protocol);
  try {
    for (const piece of pieces) protocol.parser.parse(piece);
  } catch (error) {
    heard.push(error instanceof Error ? error.message.slice(0, 20) : 'thrown');
  }
  return { heard, whole };
}

const subject = fc.array(fc.constantFrom('rpc', '_INBOX', 'a-b', 'Z9'), { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join('.'));
const payload = fc.oneof(
  fc.string({ maxLength: 200, unit: 'binary' }),
  fc.constantFrom('', '\r\n', 'MSG a 1 3\r\nabc\r\n', 'x'.repeat(5_000)),
);

const message = fc
  .record({
    subject,
    sid: fc.nat(),
    reply: fc.option(subject),
    payload,
    headers: fc.option(fc.constantFrom('NATS/1.0 503\r\n\r\n', 'NATS/1.0\r\nA: b\r\n\r\n')),
  })
  .map(({ subject: to, sid, reply, payload: text, headers }) => {
    const data = Buffer.from(text);
    const words = [
      to,
      sid,
      ...(reply === null ? [] : [reply]),
      ...(headers === null ? [] : [headers.length]),
      (headers?.length ?? 0) + data.length,
    ];
    return Buffer.concat([
      Buffer.from(`${headers === null ? '' : 'H'}MSG ${words.join(' ')}\r\n${headers ?? ''}`),
      data,
      Buffer.from('\r\n'),
    ]);
  });
const other = fc
  .constantFrom(
    'PING\r\n',
    'PONG\r\n',
    '+OK\r\n',
    "-ERR 'no'\r\n",
    'INFO {"a":1}\r\n',
    'msg a 1 2\r\nhi\r\n',
    'MSG  a\t1  2\r\nhi\r\n',
    'HMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n',
  )
  .map((text) => Buffer.from(text));
/** What no server says. */
const wrong = fc
  .constantFrom(
    'MSG a 1\r\n',
    'MSG a b 2\r\nhi\r\n',
    'MSG a 1 x\r\n',
    'HMSG a 1 9 2\r\nhi\r\n',
    'QUIT\r\n',
    'MSG a 1 2\r\nhello\r\n',
    'MSG a 1 r s 2\r\nhi\r\n',
  )
  .map((text) => Buffer.from(text));

const operations = fc
  .array(fc.oneof({ weight: 10, arbitrary: message }, { weight: 4, arbitrary: other }, { weight: 1, arbitrary: wrong }), { maxLength: 8 })
  .map((all) => Buffer.concat(all));

test('whatever the server says, and however it is cut, is heard as the client alone hears it', () => {
  fc.assert(
    fc.property(operations, fc.array(fc.nat(), { maxLength: 6 }), (bytes, cuts) => {
      const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
      const pieces = [0, ...at].map((from, n) => bytes.subarray(from, at[n] ?? bytes.length)).filter(({ length }) => length > 0);
      assert.deepEqual(hear(pieces, true).heard, hear(pieces, false).heard);
    }),
    { numRuns: 3_000 },
  );
});

const said = (n: number, more = ''): string => `MSG a.b ${n} ${more}2\r\nhi\r\n`;

test('whole messages are read at a glance, with what is none between them', () => {
  const text = `${said(1)}${said(2, 'to.me ')}PING\r\n${said(3)}HMSG a 4 12 14\r\nNATS/1.0\r\n\r\nhi\r\n`;
  const { heard, whole } = hear([Buffer.from(text)], true);
  assert.deepEqual([heard.length, whole], [5, 4]);
});

test('after a message that came in two pieces they are read at a glance again, wherever it was cut', () => {
  const bytes = Buffer.from(said(1).repeat(3));
  const length = said(1).length;
  for (let cut = length + 1; cut < 2 * length; cut++) {
    const { heard, whole } = hear([bytes.subarray(0, cut), bytes.subarray(cut)], true);
    assert.deepEqual([heard.length, whole], [3, 2], `cut at ${cut - length} of ${length}`);
  }
});

test('a payload of empty lines that came in two pieces costs the client no more than another', () => {
  let asked = 0;
  const protocol = { parser: undefined as unknown as Parser, processMsg: () => undefined, push: () => undefined };
  const parser = new Parser(protocol);
  const parse = parser.parse.bind(parser);
  parser.parse = (bytes) => {
    asked++;
    parse(bytes);
  };
  protocol.parser = parser;
  readWholeMessages(protocol);
  const bytes = Buffer.from(`MSG a 1 5000\r\n${'\n'.repeat(5_000)}\r\n`);
  for (const piece of [bytes.subarray(0, 1_000), bytes.subarray(1_000)]) parser.parse(piece);
  assert.ok(asked < 6, `${asked} times`);
});

test('a connection that was made anew is read in the same way', () => {
  const protocol = {
    parser: undefined as unknown as Parser,
    processMsg: (head: unknown) => void heads.push(head),
    push: () => assert.fail('by the client'),
  };
  const heads: unknown[] = [];
  protocol.parser = new Parser(protocol);
  readWholeMessages(protocol);
  const second = new Parser(protocol);
  protocol.parser = second;
  assert.equal(protocol.parser, second);
  protocol.parser.parse(Buffer.from(said(1)));
  assert.ok(heads[0] instanceof WholeHead);
});
