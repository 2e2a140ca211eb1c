import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesGlob } from './glob.ts';

test('only a star is a wildcard, for any run of characters', () => {
  const match: [string, string[], string[]][] = [
    ['*', ['', 'A', 'A_B'], []],
    ['A*', ['A', 'AB'], ['', 'BA']],
    ['*_KEY', ['_KEY', 'A_KEY'], ['A_KEYS', 'KEY']],
    ['A*B*C', ['ABC', 'AxBxC', 'ABBC'], ['AB', 'AC', 'ACB']],
    ['AB*BA', ['ABBA', 'ABxBA'], ['ABA']],
    ['A*A', ['AA'], ['A']],
    ['A.B', ['A.B'], ['AxB']],
    ['[A]?', ['[A]?'], ['A', 'AB']],
    ['', [''], ['A']],
  ];
  for (const [pattern, yes, no] of match) {
    for (const text of yes) assert.ok(matchesGlob(pattern, text), `${pattern} is ${text}`);
    for (const text of no) assert.ok(!matchesGlob(pattern, text), `${pattern} is not ${text}`);
  }
});

test('matches a pattern of many stars on a long text in linear time', () => {
  const startedAt = performance.now();
  assert.ok(!matchesGlob(`${'a*'.repeat(128)}b`, 'a'.repeat(256)));
  assert.ok(performance.now() - startedAt < 1_000);
});
