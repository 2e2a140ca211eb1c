import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBox } from './box.ts';

const PLAIN = Buffer.from('what only one may read');
const PLACE = ['secrets.resolve', 'OPENAI_API_KEY', 'nonce'];

test('what is sealed to a box opens there, and for nobody else, not even for who sealed it', () => {
  const [owner, asker, other] = [openBox(), openBox(), openBox()];
  const text = owner.seal(asker.key, PLAIN, PLACE) ?? assert.fail();
  assert.deepEqual(Buffer.from(asker.unseal(text, PLACE) ?? []), PLAIN);
  assert.ok(!text.includes(PLAIN.toString('base64url')));
  assert.equal(other.unseal(text, PLACE), undefined);
  assert.equal(owner.unseal(text, PLACE), undefined);
});

test('it opens for its place alone: another name, another nonce, and a changed text do not', () => {
  const [owner, asker] = [openBox(), openBox()];
  const text = owner.seal(asker.key, PLAIN, PLACE) ?? assert.fail();
  for (const place of [['secrets.resolve', 'OTHER_KEY', 'nonce'], ['secrets.resolve', 'OPENAI_API_KEY', 'later'], []])
    assert.equal(asker.unseal(text, place), undefined);
  const [form, from, iv, body = ''] = text.split('.');
  const flipped = `${body.startsWith('A') ? 'B' : 'A'}${body.slice(1)}`;
  for (const changed of [[form, from, iv, flipped], [form, asker.key, iv, body], [form, openBox().key, iv, body], ['', ''], []])
    assert.equal(asker.unseal(changed.join('.'), PLACE), undefined);
});

test('each seal is another text, in both directions', () => {
  const [owner, asker] = [openBox(), openBox()];
  assert.notEqual(owner.seal(asker.key, PLAIN, PLACE), owner.seal(asker.key, PLAIN, PLACE));
  const back = asker.seal(owner.key, PLAIN, PLACE) ?? assert.fail();
  assert.deepEqual(Buffer.from(owner.unseal(back, PLACE) ?? []), PLAIN);
  assert.equal(asker.unseal(back, PLACE), undefined);
});

test('nothing is sealed to what is no key, or to one that agrees with everybody on the same', () => {
  const zero = Buffer.alloc(32);
  const one = Buffer.alloc(32);
  one[0] = 1;
  const box = openBox();
  for (const key of ['', 'short', `${'A'.repeat(42)}=`, 'A'.repeat(44), zero.toString('base64url'), one.toString('base64url')])
    assert.equal(box.seal(key, PLAIN, PLACE), undefined, key);
});

test('everybody who has the same bytes has the same box: one opens what was sealed to the other', () => {
  const bytes = Buffer.alloc(32, 9);
  const [one, other, stranger] = [openBox(bytes), openBox(bytes), openBox(Buffer.alloc(32, 8))];
  assert.equal(one.key, other.key);
  assert.notEqual(one.key, stranger.key);
  const text = openBox().seal(one.key, PLAIN, PLACE) ?? assert.fail();
  assert.deepEqual(Buffer.from(other.unseal(text, PLACE) ?? []), PLAIN);
  assert.equal(stranger.unseal(text, PLACE), undefined);
});
