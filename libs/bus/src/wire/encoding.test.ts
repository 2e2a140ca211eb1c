import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJson, decodeText, encodeJson, subjectToken } from './encoding.ts';

test('subjectToken returns valid tokens unchanged and hashes other texts', () => {
  for (const token of ['a', 'agent_1-B', 'x'.repeat(64)]) assert.equal(subjectToken(token), token);
  for (const text of ['', 'x.>', '*', 'a b', 'ö', 'a\r\n', 'x'.repeat(65)])
    assert.match(subjectToken(text), /^[a-z2-7]{26}$/, JSON.stringify(text));
  // The base32 SHA-256 of `x.>`: `printf 'x.>' | sha256sum | xxd -r -p | base32`.
  assert.equal(subjectToken('x.>'), '6ky3oohxwz3llftyq7dn4qvpv5');
  assert.notEqual(subjectToken('x.>'), subjectToken('x.*'));
});

test('encodeJson and decodeJson round-trip for Buffer and Uint8Array', () => {
  const value = { text: 'zoë ☃ \u2028', n: 1.5, none: null, list: [true] };
  assert.deepEqual(decodeJson(encodeJson(value)), value);
  assert.deepEqual(decodeJson(new Uint8Array(encodeJson(value))), value);
  assert.equal(decodeText(encodeJson(undefined)), 'null');
  assert.deepEqual(decodeJson(new Uint8Array(0)), {});
  assert.deepEqual(decodeJson(Buffer.from('{}')), {});
  for (const text of ['{x', '{', 'x}']) assert.throws(() => decodeJson(Buffer.from(text)), SyntaxError, text);
});
