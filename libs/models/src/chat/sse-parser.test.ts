import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSseParser } from './sse-parser.ts';

const LINES = [
  ': a comment',
  'data: één',
  'data:two',
  'id: 3',
  '',
  '',
  'data: {"🌊":1}',
  '',
  'data',
  '',
  'database: no',
  '',
  'data:  kept space',
  '',
];
const DATA = ['één\ntwo', '{"🌊":1}', '', ' kept space'];

function readAll(parts: readonly Buffer[], max = 1_000): string[] {
  const events: string[] = [];
  const reader = createSseParser(max, (data) => events.push(data));
  for (const part of parts) reader.push(part);
  reader.end();
  return events;
}

test('parses the same events from chunks of any size and any line ending', () => {
  for (const lineEnd of ['\n', '\r\n', '\r']) {
    const all = Buffer.from(`\uFEFF${LINES.map((line) => line + lineEnd).join('')}`);
    for (let at = 0; at <= all.length; at++) {
      assert.deepEqual(readAll([all.subarray(0, at), all.subarray(at)]), DATA, `${JSON.stringify(lineEnd)} cut at ${at}`);
    }
    assert.deepEqual(readAll(Array.from(all, (byte) => Buffer.of(byte))), DATA);
  }
});

test('dispatches a last event without its empty line', () => {
  for (const end of ['', '\n', '\n\n']) assert.deepEqual(readAll([Buffer.from(`data: last${end}`)]), ['last']);
});

test('rejects an event above maxBytes', () => {
  const large = 'x'.repeat(600);
  const refused = { name: 'RangeError' };
  assert.throws(() => readAll([Buffer.from(`data: ${large}${large}\n\n`)]), refused);
  assert.throws(() => readAll([Buffer.from(`data: ${large}\ndata: ${large}\n\n`)]), refused);
  assert.throws(() => readAll([Buffer.from('data: '), Buffer.from(large), Buffer.from(large)]), refused);
  assert.equal(readAll([Buffer.from(`data: ${large}\n\n`), Buffer.from(`data: ${large}\n\n`)]).length, 2);
});
