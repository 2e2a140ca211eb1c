import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRange } from './range.ts';

test('clamps a range to the size of the body', () => {
  for (const [header, expected] of [
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=2-5', { start: 2, end: 6 }],
    ['bytes=7-', { start: 7, end: 10 }],
    ['bytes=7-99', { start: 7, end: 10 }],
    ['bytes=-3', { start: 7, end: 10 }],
    ['bytes=-99', { start: 0, end: 10 }],
    ['Bytes=9-9', { start: 9, end: 10 }],
  ] as const)
    assert.deepEqual(parseRange(header, 10), expected, header);
});

test('returns unsatisfiable for a range behind the end', () => {
  for (const header of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=999999999999999-'])
    assert.equal(parseRange(header, 10), 'unsatisfiable', header);
  for (const header of ['bytes=0-', 'bytes=-1']) assert.equal(parseRange(header, 0), 'unsatisfiable', header);
});

test('returns the whole body for invalid and multiple ranges', () => {
  for (const header of [
    undefined,
    '',
    'bytes=',
    'bytes=-',
    'bytes=5-2',
    'bytes=0-1,4-5',
    'items=0-1',
    'bytes=a-b',
    'bytes=1',
    `bytes=${'9'.repeat(400)}-`,
  ])
    assert.equal(parseRange(header, 10), undefined, header);
});
