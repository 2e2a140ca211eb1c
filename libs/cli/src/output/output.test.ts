import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { columns, fitted, paint, printable, rows, table } from './output.ts';

const terminal: Pick<NodeJS.WriteStream, 'isTTY'> = { isTTY: true };
const file: typeof terminal = { isTTY: false };

test('paint styles text on terminals unless NO_COLOR is set', () => {
  assert.equal(paint('red', 'no', terminal, {}), '\u001b[31mno\u001b[39m');
  assert.equal(paint('red', 'no', file, {}), 'no');
  assert.equal(paint('red', 'no', terminal, { NO_COLOR: '1' }), 'no');
  assert.equal(paint('red', 'no', terminal, { TERM: 'dumb' }), 'no');
  assert.equal(paint('red', 'no', terminal, { NO_COLOR: '' }), '\u001b[31mno\u001b[39m', 'an empty NO_COLOR is none');
});

test('printable replaces control characters on terminals only', () => {
  const hostile = 'a\u001b]52;c;eA==\u0007b\u009b2J\tc\n';
  assert.equal(printable(hostile, terminal), 'a\ufffd]52;c;eA==\ufffdb\ufffd2J\tc\n');
  assert.equal(printable(hostile, file), hostile);
});

test('rows aligns labels', () => {
  assert.equal(
    rows([
      ['a', 'x'],
      ['long', 'y'],
    ]),
    'a     x\nlong  y\n',
  );
});

test('table adds a heading and truncates lines on terminals only', () => {
  const lines = [
    ['a', 'what somebody\nsaid'],
    ['長い', 'x'],
  ];
  assert.equal(table(['ID', 'TEXT'], lines, file), 'a     what somebody said\n長い  x\n');
  const narrow = stripVTControlCharacters(table(['ID', 'TEXT'], lines, { ...terminal, columns: 12 }));
  assert.equal(narrow, 'ID    TEXT\na     what …\n長い  x\n');
});

test('table counts wide characters as two columns', () => {
  assert.equal(
    columns([
      ['長', 'x'],
      ['abc', 'y'],
    ]),
    '長   x\nabc  y\n',
  );
  assert.equal(fitted('長長長', { ...terminal, columns: 5 }), '長長…');
  assert.equal(fitted('👨‍👩‍👧 and more', { ...terminal, columns: 4 }), '👨‍👩‍👧 …');
});
