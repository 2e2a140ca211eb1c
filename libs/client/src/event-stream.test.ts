import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents } from './event-stream.ts';

async function* cut(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const TEXT = [
  'retry: 3000\n\n',
  ': a comment\n\n',
  'id: t:0\n\n',
  'id: t:1\r\nevent: token\r\ndata: {"delta":"é😀"}\r\n\r\n',
  'event:token\rdata:first\rdata: second\rdata\r\r',
  'data: no name\nignored: field\n\n',
  'event: no data\n\n',
  'event: cut\ndata: never dispatched',
].join('');

test('readEvents parses the same events from chunks of any size', async () => {
  for (const size of [1, 2, 3, 7, 1_000]) {
    assert.deepEqual(await Array.fromAsync(readEvents(cut(TEXT, size))), [
      { event: 'message', data: '', id: 't:0' },
      { event: 'token', data: '{"delta":"é😀"}', id: 't:1' },
      { event: 'token', data: 'first\nsecond\n', id: undefined },
      { event: 'message', data: 'no name', id: undefined },
    ]);
  }
});

async function* endless(): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(1024 * 1024).fill(97);
  for (;;) yield chunk;
}

test('readEvents rejects a line above the buffer limit', async () => {
  await assert.rejects(Array.fromAsync(readEvents(endless())), RangeError);
});
