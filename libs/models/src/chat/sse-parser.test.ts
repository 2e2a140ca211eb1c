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

test('events are the same wherever reads cut them, whatever ends their lines', () => {
  for (const lineEnd of ['\n', '\r\n', '\r']) {
    const all = Buffer.from(`\uFEFF${LINES.map((line) => line + lineEnd).join('')}`);
    for (let at = 0; at <= all.length; at++) {
      assert.deepEqual(readAll([all.subarray(0, at), all.subarray(at)]), DATA, `${JSON.stringify(lineEnd)} cut at ${at}`);
    }
    assert.deepEqual(readAll(Array.from(all, (byte) => Buffer.of(byte))), DATA);
  }
});

test('what lacks only its empty line, or its line end, counts at the end', () => {
  for (const end of ['', '\n', '\n\n']) assert.deepEqual(readAll([Buffer.from(`data: last${end}`)]), ['last']);
});

test('an event is bounded, in one line, in many, and before its line ends', () => {
  const large = 'x'.repeat(600);
  const refused = { name: 'RangeError' };
  assert.throws(() => readAll([Buffer.from(`data: ${large}${large}\n\n`)]), refused);
  assert.throws(() => readAll([Buffer.from(`data: ${large}\ndata: ${large}\n\n`)]), refused);
  assert.throws(() => readAll([Buffer.from('data: '), Buffer.from(large), Buffer.from(large)]), refused);
  assert.equal(readAll([Buffer.from(`data: ${large}\n\n`), Buffer.from(`data: ${large}\n\n`)]).length, 2);
});
