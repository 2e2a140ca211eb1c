import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scrubTexts } from './scrub-texts.ts';

const SECRET = 'sk-proj-abcdefghijklmnopqrstuvwxyz';

test('redacts secret keys and secret texts at any depth, and keeps other values', () => {
  const value = { a: [{ b: { c: { d: { e: `key ${SECRET}` } } } }], apiKey: 'plain', count: 3, none: null };
  assert.deepEqual(scrubTexts(value), { a: [{ b: { c: { d: { e: 'key [REDACTED]' } } } }], apiKey: '[REDACTED]', count: 3, none: null });
});

test('keeps a long text complete and finds a secret at every position', () => {
  for (let at = 8_150; at < 8_230; at += 1) {
    const text = `${'word '.repeat(1_630).slice(0, at - 1)} ${SECRET} ${'end '.repeat(3_000)}`;
    const scrubbed = scrubTexts(text);
    assert.equal(scrubbed, text.replace(SECRET, '[REDACTED]'), `at ${at}`);
  }
});
