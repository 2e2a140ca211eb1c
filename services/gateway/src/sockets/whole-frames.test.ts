import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { readWholeFrames } from './whole-frames.ts';

const LARGEST = 1_000;
const UPGRADE = {
  method: 'GET',
  url: '/',
  headers: { upgrade: 'websocket', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', 'sec-websocket-version': '13' },
} as unknown as IncomingMessage;

/** What one who sends these pieces is understood to have said, and how it ended. */
interface Understood {
  said: string[];
  /** What came by way of `ws`, by its length. */
  others: number;
}

async function understand(pieces: readonly Buffer[], atAGlance: boolean): Promise<Understood> {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: LARGEST });
  const [stream, client] = duplexPair();
  const upgraded = Promise.withResolvers<WebSocket>();
  server.handleUpgrade(UPGRADE, stream, Buffer.alloc(0), upgraded.resolve);
  const socket = await upgraded.promise;
  const understood: Understood = { said: [], others: 0 };
  const { said } = understood;
  const hear = (kind: string) => (data: RawData) => void said.push(`${kind} ${(data as Buffer).toString('latin1')}`);
  if (atAGlance)
    readWholeFrames(
      { stream, largest: LARGEST },
      { onText: (_from, message) => hear('text')(message), onOther: (_from, length) => (understood.others += length) },
    );
  socket.on('message', (data, isBinary) => hear(isBinary ? 'bytes' : 'text')(data));
  socket.on('ping', hear('ping'));
  socket.on('pong', hear('pong'));
  socket.on('error', (error) => said.push(`error ${error.message}`));
  client.resume();
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  for (const piece of pieces) if (!client.destroyed) await new Promise((resolve) => void client.write(Buffer.from(piece), resolve)); // who reads it may write in it
  client.end();
  said.push(`close ${String(await closed)}`);
  return understood;
}

interface Frame {
  first: number;
  payload: Buffer;
  masked: boolean;
}

function frameBytes({ first, payload, masked }: Frame): Buffer {
  const { length } = payload;
  const flag = masked ? 0x80 : 0;
  const size = length < 126 ? [flag | length] : length < 65_536 ? [flag | 126, length >> 8, length & 0xff] : [flag | 127, 0, 0, 0, 0];
  const wide = Buffer.alloc(length < 65_536 ? 0 : 4);
  if (wide.length > 0) wide.writeUInt32BE(length);
  const mask = Buffer.from([0x11, 0x9c, 0x00, 0xf3]);
  const body = masked ? payload.map((byte, at) => byte ^ (mask[at % 4] as number)) : payload;
  return Buffer.concat([Buffer.from([first, ...size]), wide, masked ? mask : Buffer.alloc(0), body]);
}

const text = (payload: string): Frame => ({ first: 0x81, payload: Buffer.from(payload), masked: true });

const ordinary = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 300, unit: 'grapheme' }).map(text) },
  fc.constantFrom(125, 126, 127, LARGEST).map((length) => text('x'.repeat(length))),
  fc.constantFrom(0x89, 0x8a).map((first): Frame => ({ first, payload: Buffer.from('beat'), masked: true })),
);
const extraordinary = fc.oneof(
  fc.constant(text('y'.repeat(LARGEST + 1))),
  fc.constant(text('z'.repeat(70_000))),
  fc.record({
    first: fc.constantFrom(0x01, 0x00, 0x80, 0x82, 0x88, 0x91, 0xc1, 0x83, 0x8b, 0x09),
    payload: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    masked: fc.boolean(),
  }),
  fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes): Frame => ({ first: 0x81, payload: Buffer.from(bytes), masked: true })),
  fc.constant<Frame>({ first: 0x81, payload: Buffer.from('bare'), masked: false }),
);
/** A message in several frames, with a heartbeat in the middle of it. */
const inParts = fc.tuple(fc.string(), fc.string()).map(([one, other]): Frame[] => [
  { first: 0x01, payload: Buffer.from(one), masked: true },
  { first: 0x89, payload: Buffer.from('beat'), masked: true },
  { first: 0x80, payload: Buffer.from(other), masked: true },
]);
const frames = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: ordinary.map((frame) => [frame]) },
      { weight: 1, arbitrary: extraordinary.map((frame) => [frame]) },
      { weight: 1, arbitrary: inParts },
    ),
    { maxLength: 8 },
  )
  .map((groups) => Buffer.concat(groups.flat().map(frameBytes)));

test('whatever is sent, and however it is cut, is understood as `ws` alone understands it', async () => {
  await fc.assert(
    fc.asyncProperty(frames, fc.array(fc.nat(), { maxLength: 6 }), async (bytes, cuts) => {
      const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
      const pieces = [0, ...at].map((from, n) => bytes.subarray(from, at[n] ?? bytes.length)).filter(({ length }) => length > 0);
      const [ours, theirs] = await Promise.all([true, false].map((atAGlance) => understand(pieces, atAGlance)));
      assert.deepEqual(ours?.said, theirs?.said);
    }),
    { numRuns: 500 },
  );
});

test('whole texts are read without `ws`, also several in one piece, and heartbeats between them change nothing of that', async () => {
  const beat: Frame = { first: 0x8a, payload: Buffer.from('beat'), masked: true };
  const pieces = [[text('one')], [text('two'), text('ŷ€'.repeat(100))], [beat], [text('four'), beat], [text('')]];
  const { said, others } = await understand(
    pieces.map((piece) => Buffer.concat(piece.map(frameBytes))),
    true,
  );
  const sent = ['one', 'two', 'ŷ€'.repeat(100), 'four', ''].map((one) => `text ${Buffer.from(one).toString('latin1')}`);
  assert.deepEqual(
    said.filter((one) => one.startsWith('text')),
    sent,
  );
  assert.equal(others, 2 * frameBytes(beat).length);
});

for (const [what, bytes] of [
  ['a text that is no UTF-8, and would be if its mask were forgotten', [0x81, 0x84, 0x11, 0x9c, 0x00, 0xf3, ...Buffer.from('AAAA')]],
  ['a frame without a mask, and what might be taken for one behind it', [0x81, 0x01, ...Buffer.from('aaaaaaaa')]],
] as const)
  test(`${what} is refused as by \`ws\``, async () => {
    const [ours, theirs] = [await understand([Buffer.from(bytes)], true), await understand([Buffer.from(bytes)], false)];
    assert.deepEqual(ours.said, theirs.said);
    assert.match(ours.said[0] ?? '', /^error/);
  });

test('from a message in several pieces on a socket is read by `ws`', async () => {
  const [whole, again] = [frameBytes(text('whole')), frameBytes(text('again'))];
  const { said, others } = await understand([whole, whole.subarray(0, 5), whole.subarray(5), again], true);
  assert.deepEqual(said.slice(0, 3), ['text whole', 'text whole', 'text again']);
  assert.equal(others, whole.length + again.length);
});
