import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from './csv.ts';

test('quotes every value, and writes objects as JSON', () => {
  const rows = [{ name: 'a "b", c\nd', count: 2, tags: ['x'] }, { name: null }];
  assert.equal(toCsv(rows, ['name', 'count', 'tags']), '"name","count","tags"\r\n"a ""b"", c\nd","2","[""x""]"\r\n"","",""');
});

test('a value that a spreadsheet would execute as a formula begins with an apostrophe', () => {
  for (const text of ['=1+1', '+1', '-1', '@a', '\tx']) assert.match(toCsv([{ text }], ['text']), /\r\n"'/);
});

test('negative numbers stay numbers', () => {
  assert.equal(toCsv([{ cost: -1.5, delta: -2e-7 }], ['cost', 'delta']), '"cost","delta"\r\n"-1.5","-2e-7"');
});
