import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '@switchyard/telemetry';
import { MAX_VALUE_BYTES } from '../port/cache.ts';
import { cacheContract } from '../contract/cache.contract.ts';
import { openCache } from '../open-cache.ts';

const open = () => openCache('memory:', { service: 'sessions', log: silentLogger() });

cacheContract('memory', open);

test('evicts the least recently used entries', async () => {
  const cache = await open();
  await cache.set(['first'], 'x', 60_000);
  for (let n = 0; n < 10_000; n++) await cache.set([`flood-${n}`], 'x', 60_000);
  assert.deepEqual([await cache.get(['first']), await cache.get(['flood-0'])], [undefined, 'x']);
  for (let n = 0; n < 257; n++) await cache.set([`large-${n}`], 'x'.repeat(MAX_VALUE_BYTES), 60_000);
  assert.deepEqual([await cache.get(['flood-9999']), await cache.get(['large-0'])], [undefined, undefined]);
  assert.ok(await cache.get(['large-1']), 'and 64 MiB of values fit');
  assert.equal(await cache.take(['first'], { max: 1, windowMs: 60_000 }), 0);
  for (let n = 0; n < 50_000; n++) await cache.take([`flood-${n}`], { max: 1, windowMs: 60_000 });
  assert.equal(await cache.take(['first'], { max: 1, windowMs: 60_000 }), 0, 'forgotten');
});
