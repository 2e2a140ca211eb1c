import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOptions } from './options.ts';

test('parseOptions defaults to the quick suite with all of its files', () => {
  assert.deepEqual(parseOptions(['']), { suite: 'quick', patterns: [] });
});

test('parseOptions reads suite, shard and patterns', () => {
  const shard = { index: 2, count: 4 };
  assert.deepEqual(parseOptions(['full', '--shard=2/4', 'libs/**/*.test.ts']), { suite: 'full', shard, patterns: ['libs/**/*.test.ts'] });
  assert.deepEqual(parseOptions(['full', '--shard=']), { suite: 'full', patterns: [] });
  assert.deepEqual(parseOptions(['full', '--without-quick']), { suite: 'full', patterns: [], withoutQuick: true });
});

test('parseOptions rejects a shard outside of its count and unknown options', () => {
  for (const shard of ['0/4', '5/4', 'a']) assert.throws(() => parseOptions([`--shard=${shard}`]), /SHARD must be like 1\/4/);
  assert.throws(() => parseOptions(['--quiet']), /Unknown option --quiet/);
});
