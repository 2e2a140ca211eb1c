import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseShards } from './choose-shards.ts';

test('chooseShards selects one shard by the hash of the commit', () => {
  assert.deepEqual(chooseShards('00000000aa', ['docs/a.md']), [1]);
  assert.deepEqual(chooseShards('00000007aa', ['services/gateway/src/a.ts', 'libs/contracts/src/bus.ts']), [4]);
});

test('chooseShards selects all shards when the core changed', () => {
  for (const file of ['libs/bus/src/a.ts', 'libs/store/package.json', 'libs/work/src/a.ts', 'services/sessions/README.md'])
    assert.deepEqual(chooseShards('00000000aa', ['docs/a.md', file]), [1, 2, 3, 4]);
});
