import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createEncryptionKey, readMasterKey, seal, unseal } from './envelope.ts';

const PLACE = ['default', 'OPENAI_API_KEY', '1'];
const plain = Buffer.from('the value');

test('decrypts with the same key and place, and every encryption gives another text', () => {
  const key = createEncryptionKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  assert.deepEqual(Buffer.from(unseal(key, sealed, PLACE) ?? ''), plain);
  assert.notEqual(seal(key, plain, PLACE), sealed);
  assert.ok(!sealed.includes(plain.toString('base64url')));
  assert.equal(unseal(key, seal(key, Buffer.alloc(0), PLACE), PLACE)?.length, 0);
});

test('rejects another place, another key and another key id', () => {
  const key = createEncryptionKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  for (const place of [['other', 'OPENAI_API_KEY', '1'], ['default', 'OTHER', '1'], ['default', 'OPENAI_API_KEY', '2'], PLACE.slice(1)])
    assert.equal(unseal(key, sealed, place), undefined, String(place));
  assert.equal(unseal(createEncryptionKey('dek-1'), sealed, PLACE), undefined);
  assert.equal(unseal({ ...key, id: 'dek-2' }, sealed.replace('dek-1', 'dek-2'), PLACE), undefined);
});

test('rejects a changed, truncated or extended text', () => {
  const key = createEncryptionKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  for (let at = 0; at < sealed.length; at++) {
    const other = sealed[at] === 'A' ? 'B' : 'A';
    assert.equal(unseal(key, sealed.slice(0, at) + other + sealed.slice(at + 1), PLACE), undefined, `at ${at}`);
    assert.equal(unseal(key, sealed.slice(0, at), PLACE), undefined, `cut at ${at}`);
  }
  for (const text of [`${sealed}A`, `${sealed}.`, `${sealed}=`, '', '....']) assert.equal(unseal(key, text, PLACE), undefined, text);
});

test('reads a master key from hexadecimal or base64 of at least 32 bytes', () => {
  const bytes = randomBytes(32);
  const hex = readMasterKey(bytes.toString('hex'));
  assert.ok(hex);
  assert.deepEqual(readMasterKey(bytes.toString('base64')), hex);
  assert.deepEqual(readMasterKey(bytes.toString('base64url')), hex);
  assert.deepEqual(readMasterKey(bytes.toString('hex') + 'ff'), hex);
  assert.notEqual(readMasterKey(randomBytes(32).toString('hex'))?.id, hex.id);
  assert.ok(!Buffer.from(hex.bytes).equals(bytes), 'the encryption key is derived');
});

test('rejects a master key that is short, malformed or not random', () => {
  const texts = ['', 'secret', '0'.repeat(64), 'ab'.repeat(32), 'A'.repeat(44), randomBytes(31).toString('hex'), 'a b'.repeat(20)];
  for (const text of texts) assert.equal(readMasterKey(text), undefined, text);
});
