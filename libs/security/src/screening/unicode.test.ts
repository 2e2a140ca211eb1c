import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeUnicode } from './unicode.ts';

const MIB = 2 ** 20;

test('normalizeUnicode applies compatibility forms', () => {
  assert.equal(normalizeUnicode('ﬁne ① é', 'NFKC'), 'fine 1 é');
  assert.equal(normalizeUnicode('é', 'NFKD'), 'e\u0301');
  assert.equal(normalizeUnicode('plain', 'NFKD'), 'plain');
});

test('normalizeUnicode lets no character grow more than fourfold', () => {
  for (let code = 0; code < 0x11_00_00; code++) {
    const character = String.fromCodePoint(code);
    for (const form of ['NFKC', 'NFKD'] as const)
      assert.ok(normalizeUnicode(character, form).length <= 4 * character.length, `U+${code.toString(16)} ${form}`);
  }
});

test('normalizeUnicode leaves U+FDFA as it is', () => {
  const text = '\ufdfa'.repeat(MIB);
  assert.equal(normalizeUnicode(text, 'NFKD'), text);
  assert.equal(normalizeUnicode('a\ufdfaé', 'NFKC'), 'a\ufdfaé');
});

test('normalizeUnicode cuts runs of combining marks, which take quadratic time to sort', () => {
  const marks = '\u0301\u0323'.repeat(MIB / 2);
  assert.equal(normalizeUnicode(`a${marks}b`, 'NFKD').length, 32);
});
