import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { mintSealingKey, readMasterKey, seal, unseal } from './envelope.ts';

const PLACE = ['default', 'OPENAI_API_KEY', '1'];
const plain = Buffer.from('the value');

test('what is sealed opens with its key, in its place, and is another text each time', () => {
  const key = mintSealingKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  assert.deepEqual(Buffer.from(unseal(key, sealed, PLACE) ?? ''), plain);
  assert.notEqual(seal(key, plain, PLACE), sealed);
  assert.ok(!sealed.includes(plain.toString('base64url')));
  assert.equal(unseal(key, seal(key, Buffer.alloc(0), PLACE), PLACE)?.length, 0);
});

test('moved elsewhere it does not open, nor with another key, nor under another name of the key', () => {
  const key = mintSealingKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  for (const place of [['other', 'OPENAI_API_KEY', '1'], ['default', 'OTHER', '1'], ['default', 'OPENAI_API_KEY', '2'], PLACE.slice(1)])
    assert.equal(unseal(key, sealed, place), undefined, String(place));
  assert.equal(unseal(mintSealingKey('dek-1'), sealed, PLACE), undefined);
  assert.equal(unseal({ ...key, id: 'dek-2' }, sealed.replace('dek-1', 'dek-2'), PLACE), undefined);
});

test('changed by one character, cut or longer it does not open', () => {
  const key = mintSealingKey('dek-1');
  const sealed = seal(key, plain, PLACE);
  for (let at = 0; at < sealed.length; at++) {
    const other = sealed[at] === 'A' ? 'B' : 'A';
    assert.equal(unseal(key, sealed.slice(0, at) + other + sealed.slice(at + 1), PLACE), undefined, `at ${at}`);
    assert.equal(unseal(key, sealed.slice(0, at), PLACE), undefined, `cut at ${at}`);
  }
  for (const text of [`${sealed}A`, `${sealed}.`, `${sealed}=`, '', '....']) assert.equal(unseal(key, text, PLACE), undefined, text);
});

test('a master key is hexadecimal or base64 of 32 bytes and more; the same text gives the same key', () => {
  const bytes = randomBytes(32);
  const hex = readMasterKey(bytes.toString('hex'));
  assert.ok(hex);
  assert.deepEqual(readMasterKey(bytes.toString('base64')), hex);
  assert.deepEqual(readMasterKey(bytes.toString('base64url')), hex);
  assert.deepEqual(readMasterKey(bytes.toString('hex') + 'ff'), hex);
  assert.notEqual(readMasterKey(randomBytes(32).toString('hex'))?.id, hex.id);
  assert.ok(!Buffer.from(hex.bytes).equals(bytes), 'what seals is derived');
});

test('what is too short, no encoding at all, or not drawn at random is no master key', () => {
  const texts = ['', 'secret', '0'.repeat(64), 'ab'.repeat(32), 'A'.repeat(44), randomBytes(31).toString('hex'), 'a b'.repeat(20)];
  for (const text of texts) assert.equal(readMasterKey(text), undefined, text);
});
