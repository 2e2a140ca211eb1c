import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDecryptionKey, encryptTo, type JweBinding } from './jwe.ts';

const PLAINTEXT = Buffer.from('for one recipient');
const BINDING: JweBinding = { method: 'secrets.resolve', name: 'OPENAI_API_KEY', nonce: 'one' };

async function encrypt(publicKey: string, binding = BINDING): Promise<string> {
  return (await encryptTo(publicKey, PLAINTEXT, binding)) ?? assert.fail();
}

test('a JWE is decrypted by its recipient and by no other key', async () => {
  const [recipient, other] = [createDecryptionKey(), createDecryptionKey()];
  const jwe = await encrypt(recipient.publicKey);
  assert.deepEqual(Buffer.from((await recipient.decrypt(jwe, BINDING)) ?? []), PLAINTEXT);
  assert.ok(!jwe.includes(PLAINTEXT.toString('base64url')));
  assert.equal(await other.decrypt(jwe, BINDING), undefined);
});

test('a JWE names ECDH-ES and A256GCM, and every other algorithm is rejected', async () => {
  const recipient = createDecryptionKey();
  const [header = '', ...rest] = (await encrypt(recipient.publicKey)).split('.');
  const parsed = JSON.parse(Buffer.from(header, 'base64url').toString());
  assert.deepEqual([parsed.alg, parsed.enc, parsed.binding], ['ECDH-ES', 'A256GCM', BINDING]);
  for (const change of [{ alg: 'dir' }, { alg: 'ECDH-ES+A256KW' }, { enc: 'A128GCM' }, { epk: undefined }]) {
    const changed = Buffer.from(JSON.stringify({ ...parsed, ...change })).toString('base64url');
    assert.equal(await recipient.decrypt([changed, ...rest].join('.'), BINDING), undefined, JSON.stringify(change));
  }
});

test('a JWE is rejected under another binding', async () => {
  const recipient = createDecryptionKey();
  const jwe = await encrypt(recipient.publicKey);
  for (const change of [{ name: 'OTHER_KEY' }, { nonce: 'two' }, { direction: 'result' }])
    assert.equal(await recipient.decrypt(jwe, { ...BINDING, ...change }), undefined);
  assert.equal(await recipient.decrypt(jwe, {}), undefined);
});

test('a JWE is rejected when a byte of any part has changed', async () => {
  const recipient = createDecryptionKey();
  const parts = (await encrypt(recipient.publicKey)).split('.');
  for (const [index, part] of parts.entries()) {
    const bytes = Buffer.from(part, 'base64url');
    if (bytes.length > 0) bytes[bytes.length >> 1]! ^= 1;
    const changed = parts.with(index, bytes.length > 0 ? bytes.toString('base64url') : 'AAAA').join('.');
    assert.equal(await recipient.decrypt(changed, BINDING), undefined, `part ${index}`);
  }
  for (const text of ['', '.', 'clear text', parts.slice(1).join('.')]) assert.equal(await recipient.decrypt(text, BINDING), undefined);
});

test('a binding that was replaced in the header is rejected', async () => {
  const recipient = createDecryptionKey();
  const [header = '', ...rest] = (await encrypt(recipient.publicKey)).split('.');
  const binding = { ...BINDING, name: 'OTHER_KEY' };
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), binding };
  assert.equal(
    await recipient.decrypt([Buffer.from(JSON.stringify(changed)).toString('base64url'), ...rest].join('.'), binding),
    undefined,
  );
});

test('every encryption gives another text', async () => {
  const { publicKey } = createDecryptionKey();
  assert.notEqual(await encrypt(publicKey), await encrypt(publicKey));
});

test('encryptTo returns undefined for malformed public keys and for keys of low order', async () => {
  const zero = Buffer.alloc(32);
  const one = Buffer.alloc(32);
  one[0] = 1;
  for (const key of ['', 'short', 'A'.repeat(44), zero.toString('base64url'), one.toString('base64url')])
    assert.equal(await encryptTo(key, PLAINTEXT, BINDING), undefined, key);
});

test('processes with the same seed decrypt the same JWEs', async () => {
  const seed = Buffer.alloc(32, 9);
  const [one, replica, stranger] = [createDecryptionKey(seed), createDecryptionKey(seed), createDecryptionKey(Buffer.alloc(32, 8))];
  assert.equal(one.publicKey, replica.publicKey);
  assert.notEqual(one.publicKey, stranger.publicKey);
  const jwe = await encrypt(one.publicKey);
  assert.deepEqual(Buffer.from((await replica.decrypt(jwe, BINDING)) ?? []), PLAINTEXT);
  assert.equal(await stranger.decrypt(jwe, BINDING), undefined);
});
