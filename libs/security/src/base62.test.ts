import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeBase62 } from './base62.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function decode(text: string): bigint {
  return Array.from(text).reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
}

for (const [length, width] of [
  [4, 6],
  [7, 10],
  [16, 22],
  [32, 43],
] as const) {
  test(`${length} bytes encode to ${width} digits of the same number`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: length, maxLength: length }), (bytes) => {
        const text = encodeBase62(bytes, width);
        assert.equal(text.length, width);
        assert.equal(decode(text), BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
      }),
    );
  });
}

test('encodes zero and the maximum with full width', () => {
  assert.equal(encodeBase62(new Uint8Array(16), 22), '0'.repeat(22));
  assert.equal(decode(encodeBase62(new Uint8Array(32).fill(255), 43)), 2n ** 256n - 1n);
});
