import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketKey, bucketKeyParts, listStreams, subjectPart, subjects, TURNS_LOG } from './subjects.ts';

const TEXTS = ['ci', 'first=2', 'ops.eu:west@acme', 'a.b', 'a=2eb', '*', '>', 'acme & sons', 'größe', ' ', '=', '.'];

test('subjectPart encodes any text as one token and keeps plain text', () => {
  for (const text of TEXTS) assert.match(subjectPart(text), /^[A-Za-z0-9_=-]+$/, text);
  assert.equal(subjectPart('Laptop_1-a'), 'Laptop_1-a');
  assert.equal(subjectPart('a.b:c@d'), 'a=2eb=3ac=40d');
  assert.throws(() => subjectPart(''), TypeError);
});

test('two texts never give one part, and a key tells whose it is', () => {
  assert.equal(new Set(TEXTS.map(subjectPart)).size, TEXTS.length);
  for (const tenant of TEXTS) for (const id of TEXTS) assert.deepEqual(bucketKeyParts(bucketKey(tenant, id)), { tenant, id });
});

test('bucketKeyParts returns undefined for a foreign key', () => {
  for (const key of ['ci', 'a.b.c', 'a.', '.a', 'a.=61', 'a.=ff', 'a.=zz', 'a.=E4']) assert.equal(bucketKeyParts(key), undefined, key);
});

test('a chosen id cannot address another subject', () => {
  assert.equal(subjects.notifyClient('acme.eu', 'a.*'), 'notify.client.acme=2eeu.a=2e=2a');
  assert.notEqual(subjects.notifyClient('a', 'b.c'), subjects.notifyClient('a.b', 'c'));
  assert.throws(() => subjects.turn('a.b'), TypeError);
});

test('each turn stands in one part of the log of turns, and the parts share turns evenly', () => {
  const { parts = [] } = TURNS_LOG;
  const counts = new Map(parts.map((part) => [part, 0]));
  for (let n = 0; n < 16_000; n++) {
    const subject = subjects.turn(`turn_${(n * 2_654_435_761).toString(36).padStart(22, '0')}`);
    const part = subject.replace(/[^.]+$/, '*');
    counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  assert.equal(counts.size, parts.length);
  for (const [part, count] of counts) assert.ok(count > 800 && count < 1_200, `${part} has ${count} of 1,000`);
  assert.deepEqual(listStreams(TURNS_LOG).slice(0, 2), ['TURNS_0', 'TURNS_1']);
  assert.equal(subjects.turn('turn_1'), 'turn.a.turn_1', 'replicas of two releases agree on where a turn stands');
});
