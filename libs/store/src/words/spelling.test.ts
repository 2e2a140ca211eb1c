import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneEdit, isTolerant } from './spelling.ts';

test('isOneEdit accepts one missing, additional, wrong or swapped letter after the first', () => {
  for (const other of ['harbor', 'harbouur', 'harbour1', 'harboar', 'hrabour', 'harbuor', 'harboru', 'harbou'])
    assert.equal(isOneEdit('harbour', other), true, other);
  for (const other of ['harbour', 'barbour', 'arbour', 'harber', 'habrouur', 'harruob', 'harbourxy', ''])
    assert.equal(isOneEdit('harbour', other), false, other);
});

test('isTolerant accepts words of six letters without digits and vowel signs', () => {
  for (const word of ['flight', 'холодильник']) assert.equal(isTolerant(word), true, word);
  for (const word of ['light', 'order66', 'हिन्दुस्तान']) assert.equal(isTolerant(word), false, word);
});
