import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRota } from './rota.ts';

const always = (): boolean => true;

test('tenants take turns, and in each tenant its agents do', () => {
  const rota = createRota();
  for (const agent of ['big.a', 'big.b', 'big.c', 'small.a']) rota.add(agent);
  const order = Array.from({ length: 8 }, () => rota.next(always));
  assert.deepEqual(order, ['big.a', 'small.a', 'big.b', 'small.a', 'big.c', 'small.a', 'big.a', 'small.a']);
});

test('who has no room is passed over, and keeps its place', () => {
  const rota = createRota();
  for (const agent of ['t.a', 't.b']) rota.add(agent);
  assert.equal(
    rota.next((agent) => agent !== 't.a'),
    't.b',
  );
  assert.equal(rota.next(always), 't.a');
  assert.equal(
    rota.next(() => false),
    undefined,
  );
});

test('what came while it was looked for stays', () => {
  const rota = createRota();
  rota.add('t.a');
  const lookedAt = rota.time;
  rota.add('t.a');
  rota.remove('t.a', lookedAt);
  assert.equal(rota.has('t.a'), true);
  rota.remove('t.a', rota.time);
  assert.deepEqual([rota.has('t.a'), rota.size], [false, 0]);
});
