import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkToken, hashToken, mintToken, TOKEN_PATTERN } from './tokens.ts';

test('a minted token is valid, found by scanners, and shows only its look-up part', () => {
  const { token, lookup } = mintToken('pat');
  assert.equal(token.length, 'sy_pat_'.length + 10 + 1 + 43 + 6);
  assert.ok(token.startsWith(`sy_pat_${lookup}_`));
  assert.equal(checkToken(token), 'valid');
  assert.equal(new RegExp(TOKEN_PATTERN).exec(`curl -H "Bearer ${token}" …`)?.[0], token);
  assert.equal(checkToken(mintToken('svc').token), 'valid');
});

test('no two tokens are alike', () => {
  const tokens = Array.from({ length: 500 }, () => mintToken('svc'));
  assert.equal(new Set(tokens.map(({ token }) => token)).size, 500);
  assert.equal(new Set(tokens.map(({ lookup }) => lookup)).size, 500);
});

test('a typo of one character, anywhere, is seen without a look-up', () => {
  const at = fc.integer({ min: 3, max: 66 });
  const digit = fc.string({ minLength: 1, maxLength: 1 });
  fc.assert(
    fc.property(at, digit, (index, char) => {
      const { token } = mintToken('pat');
      fc.pre(token[index] !== char);
      assert.equal(checkToken(token.slice(0, index) + char + token.slice(index + 1)), 'malformed');
    }),
    { numRuns: 500 },
  );
});

test('neighbours exchanged, an end cut off, something added: malformed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 7, max: 65 }), (index) => {
      const { token } = mintToken('pat');
      const swapped = token.slice(0, index) + (token[index + 1] ?? '') + (token[index] ?? '') + token.slice(index + 2);
      fc.pre(swapped !== token);
      assert.equal(checkToken(swapped), 'malformed');
      assert.equal(checkToken(token.slice(0, index)), 'malformed');
      assert.equal(checkToken(`${token}0`), 'malformed');
      assert.equal(checkToken(`${token}\n`), 'malformed');
    }),
  );
});

test('what does not claim to be ours is the operator’s', () => {
  for (const text of ['', 'x'.repeat(32), 'Sy_pat_abc', ` ${mintToken('pat').token}`]) assert.equal(checkToken(text), 'foreign');
});

test('the hash is the SHA-256 of the whole text', () => {
  assert.equal(hashToken('correct horse'), createHash('sha256').update('correct horse').digest('hex'));
});
