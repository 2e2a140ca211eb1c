import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { hideValue, withoutHidden } from './masked-values.ts';
import { createLogger } from './logger.ts';
import { scrub } from './text-redaction.ts';

const DEPTHS = [1, 2, 3, 4, 5, 6, 7, 8];
const MB_2 = 2 * 1024 * 1024;

/** Values that neither look secret nor have a secret key. */
const canaries = Array.from({ length: 40 }, (_, n) => `wren ${n} ${randomBytes(9).toString('base64')} "quoted" & 100%`);

/** Places of a value in a log line. */
const places: Record<string, (value: string) => object> = {
  'a field': (value) => ({ note: value }),
  'the middle of a text': (value) => ({ note: `they said: ${value}, and left` }),
  'a list': (value) => ({ notes: ['a', [value]] }),
  'an error and its cause': (value) => ({ err: new Error(`refused: ${value}`, { cause: new Error(value) }) }),
  'the details of an error': (value) => ({ err: Object.assign(new Error('no'), { details: { said: value } }) }),
  'an address': (value) => ({ url: `https://x.example/p/${encodeURIComponent(value)}?q=${encodeURIComponent(value)}` }),
  'a header': (value) => ({ headers: { 'x-custom': value, 'proxy-auth': `Basic ${Buffer.from(value).toString('base64')}` } }),
  'JSON in a text': (value) => ({ body: JSON.stringify({ deep: [{ value }] }) }),
  'a text of 2 MB, at its beginning': (value) => ({ text: value + 'x '.repeat(MB_2 / 2) }),
  'a text of 2 MB, where it is cut': (value) => ({ text: '- '.repeat(4_090) + value + 'x '.repeat(MB_2 / 2) }),
  'a text of 2 MB, everywhere': (value) => ({ text: value.repeat(MB_2 / value.length) }),
};

test('masks forty known values everywhere in a log line', () => {
  for (const value of canaries) hideValue(value);
  const lines: string[] = [];
  const log = createLogger({ level: 'trace', destination: { write: (line: string) => void lines.push(line) } });
  let planted = 0;
  for (const [place, make] of Object.entries(places))
    for (const depth of DEPTHS) {
      const value = canaries[planted++ % canaries.length] ?? assert.fail();
      let fields = make(value);
      for (let level = 1; level < depth; level++) fields = { inner: fields };
      log.child({ bound: fields }).trace(fields, `planted ${place}: %s`, value);
    }
  assert.equal(lines.length, Object.keys(places).length * DEPTHS.length);
  const all = lines.join('\n');
  for (const value of canaries)
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), value.slice(0, 16)])
      assert.ok(!all.includes(form), form);
});

test('withoutHidden removes known values and keeps similar texts', () => {
  hideValue('the-value-of-one-secret');
  assert.equal(withoutHidden('a the-value-of-one-secret b', '…'), 'a … b');
  assert.equal(scrub('the-value-of-one-secre'), 'the-value-of-one-secre');
  hideValue('short');
  assert.equal(scrub('a short text stays'), 'a short text stays');
  hideValue('(.*)+?[x]{9}');
  assert.equal(scrub('what is read (.*)+?[x]{9} is no pattern'), 'what is read [REDACTED] is no pattern');
});

test('masks values of any length and number, and a log call never fails', () => {
  const long = Array.from({ length: 5 }, (_, n) => `${n} ${'ж☃🦩'.repeat(2_000)}`);
  const many = Array.from({ length: 60 }, (_, n) => `${n} ${'ü'.repeat(900)}`);
  for (const value of [...long, ...many]) hideValue(value);
  for (const value of [long[0], long[4], many[0], many[59]])
    for (const form of [value ?? '', encodeURIComponent(value ?? '')]) assert.equal(withoutHidden(`a ${form} b`, '$&'), 'a $& b');
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  log.info({ note: long[3] }, 'a line');
  assert.ok(lines[0]?.includes('a line') && !lines[0].includes('ж☃'));
});

test('evicts the oldest masked values above the limit', () => {
  hideValue('the-oldest-value-of-all');
  for (let n = 0; n < 1_000; n++) hideValue(`one-of-many-values-${n}`);
  assert.equal(scrub('the-oldest-value-of-all'), 'the-oldest-value-of-all');
  assert.equal(scrub('one-of-many-values-999'), '[REDACTED]');
});
