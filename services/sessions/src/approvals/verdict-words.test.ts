import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readVerdictWords } from './verdict-words.ts';

test('reads a verdict by whole words, denials first', () => {
  const cases: [string, boolean | undefined][] = [
    ['yes', true],
    ['OK!', true],
    ['Sounds  good to me', true],
    ['do it.', true],
    ['lgtm', true],
    ["no, don't go", false],
    ['don’t', false],
    ['please do not do it', false],
    ['yes, but wait', false],
    ['Stop', false],
    ['go', true],
    ['google it now', undefined],
    ['yesterday', undefined],
    ['holder of the token', undefined],
    ['What does it cost?', undefined],
    [`yes ${'x'.repeat(60)}`, undefined],
    ['', undefined],
  ];
  for (const [message, expected] of cases) assert.equal(readVerdictWords(message), expected, message);
});
