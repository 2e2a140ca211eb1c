import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExpiringMap } from './expiring-map.ts';

test('an entry ends with its time, and what has expired goes as others come', () => {
  let now = 0;
  const map = createExpiringMap<string>({ maxEntries: 100, now: () => now });
  for (let n = 0; n < 10; n++) map.set(`old-${n}`, 'x', 100);
  now = 99;
  assert.deepEqual([map.get('old-0'), map.leftMs('old-0'), map.size], ['x', 1, 10]);
  now = 100;
  assert.deepEqual([map.get('old-0'), map.leftMs('old-0')], [undefined, 0]);
  for (let n = 0; n < 5; n++) map.set(`new-${n}`, 'x', 100);
  assert.deepEqual(map.names(), ['new-0', 'new-1', 'new-2', 'new-3', 'new-4']);
});

test('who is new makes room by who was written longest ago, in entries and in bytes', () => {
  const map = createExpiringMap<string>({ maxEntries: 3, maxBytes: 10, sizeOf: (text) => text.length });
  for (const name of ['a', 'b', 'c', 'a', 'd']) map.set(name, 'xx', 1_000);
  assert.deepEqual(map.names(), ['c', 'a', 'd']);
  map.set('e', 'x'.repeat(7), 1_000);
  assert.deepEqual(map.names(), ['d', 'e']);
  map.delete('e');
  map.delete('e');
  map.set('f', 'x'.repeat(8), 1_000);
  assert.deepEqual(map.names(), ['d', 'f']);
});
