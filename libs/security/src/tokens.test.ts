import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkToken, hashToken, mintToken, TOKEN_PATTERN } from './tokens.ts';

test('a minted token is valid, matches TOKEN_PATTERN and contains its lookup part', () => {
  const { token, lookup } = mintToken('pat');
  assert.equal(token.length, 'sy_pat_'.length + 10 + 1 + 43 + 6);
  assert.ok(token.startsWith(`sy_pat_${lookup}_`));
  assert.equal(checkToken(token), 'valid');
  assert.equal(new RegExp(TOKEN_PATTERN).exec(`curl -H "Bearer ${token}" …`)?.[0], token);
  assert.equal(checkToken(mintToken('svc').token), 'valid');
});

test('minted tokens are distinct', () => {
  const tokens = Array.from({ length: 500 }, () => mintToken('svc'));
  assert.equal(new Set(tokens.map(({ token }) => token)).size, 500);
  assert.equal(new Set(tokens.map(({ lookup }) => lookup)).size, 500);
});

test('checkToken detects a typo in any position', () => {
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

test('checkToken detects swapped, missing and added characters', () => {
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

test('checkToken returns foreign for other secrets', () => {
  for (const text of ['', 'x'.repeat(32), 'Sy_pat_abc', ` ${mintToken('pat').token}`]) assert.equal(checkToken(text), 'foreign');
});

test('hashToken returns the SHA-256 of the token', () => {
  assert.equal(hashToken('correct horse'), createHash('sha256').update('correct horse').digest('hex'));
});
