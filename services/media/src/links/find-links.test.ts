import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLinks } from './find-links.ts';

test('finds the first distinct addresses of a text', () => {
  const text = 'http://a.example/ http://b.example/ http://a.example/ http://c.example/ http://d.example/';
  assert.deepEqual(findLinks(text, 3), ['http://a.example/', 'http://b.example/', 'http://c.example/']);
  assert.deepEqual(findLinks(text, 1), ['http://a.example/']);
});

test('finds no address in code', () => {
  const code = ['`http://a.example/`', '``x ` http://b.example/``', '```\nhttp://c.example/\n```', '~~~sh\ncurl http://d.example/\n~~~'];
  for (const text of code) assert.deepEqual(findLinks(`${text}\nhttp://e.example/`, 3), ['http://e.example/'], text);
  assert.deepEqual(findLinks('```\nhttp://a.example/ in a block without an end', 3), []);
});

test('ends an address before the punctuation of its sentence', () => {
  const cases = {
    'See http://a.example/x.': 'http://a.example/x',
    '(http://a.example/x)': 'http://a.example/x',
    'http://a.example/Oslo_(town)': 'http://a.example/Oslo_(town)',
    '[plan](http://a.example/plan)!': 'http://a.example/plan',
    '**http://a.example/**': 'http://a.example/',
    '<http://a.example/>': 'http://a.example/',
    '„http://a.example/?q=1”': 'http://a.example/?q=1',
  };
  for (const [text, expected] of Object.entries(cases)) assert.deepEqual(findLinks(text, 3), [expected], text);
});

test('ignores other schemes and words that look like addresses', () => {
  assert.deepEqual(findLinks('file:///etc/passwd javascript:alert(1) ftp://a.example/ a.example http:// https://', 3), []);
});
