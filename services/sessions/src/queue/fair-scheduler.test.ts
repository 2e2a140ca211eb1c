import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairScheduler } from './fair-scheduler.ts';

const always = (): boolean => true;

test('alternates between tenants, and between the agents of a tenant', () => {
  const rota = createFairScheduler();
  for (const agent of ['big.a', 'big.b', 'big.c', 'small.a']) rota.add(agent);
  const order = Array.from({ length: 8 }, () => rota.next(always));
  assert.deepEqual(order, ['big.a', 'small.a', 'big.b', 'small.a', 'big.c', 'small.a', 'big.a', 'small.a']);
});

test('alternates between the clients of a tenant, and between the agents of a client', () => {
  const rota = createFairScheduler();
  for (const key of ['t.a  busy', 't.b  busy', 't.c  busy', 't.a  light']) rota.add(key);
  const order = Array.from({ length: 8 }, () => rota.next(always));
  assert.deepEqual(order, ['t.a  busy', 't.a  light', 't.b  busy', 't.a  light', 't.c  busy', 't.a  light', 't.a  busy', 't.a  light']);
});

test('reports waiting keys of the same agent that have room', () => {
  const rota = createFairScheduler();
  for (const key of ['t.a  one', 't.b  one', 'u.a  one']) rota.add(key);
  assert.equal(rota.isAnyWaiting('t.a  two', always), true);
  assert.equal(
    rota.isAnyWaiting('t.a  two', (key) => key !== 't.a  one'),
    false,
  );
  assert.deepEqual([rota.isAnyWaiting('t.a  one', always), rota.isAnyWaiting('t.c  two', always)], [false, false]);
});

test('skips a key without free capacity and keeps its position', () => {
  const rota = createFairScheduler();
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

test('keeps a key that was added during a poll', () => {
  const rota = createFairScheduler();
  rota.add('t.a');
  const lookedAt = rota.time;
  rota.add('t.a');
  rota.remove('t.a', lookedAt);
  assert.equal(rota.has('t.a'), true);
  rota.remove('t.a', rota.time);
  assert.deepEqual([rota.has('t.a'), rota.size], [false, 0]);
});

/** Its turn, and then a look that finds nothing more. */
function serveAll(rota: ReturnType<typeof createFairScheduler>, agent: string): void {
  for (const _ of ['served', 'nothing left'])
    assert.equal(
      rota.next((one) => one === agent),
      agent,
    );
  rota.remove(agent, rota.time);
}

test('restores the position of a key that waits again', () => {
  const rota = createFairScheduler();
  for (const agent of ['big.a', 'small.a']) rota.add(agent);
  assert.equal(rota.next(always), 'big.a');
  serveAll(rota, 'small.a');
  assert.deepEqual([rota.next(always), rota.next(always)], ['big.a', 'big.a']);
  rota.add('small.a');
  rota.add('new.a');
  assert.deepEqual([rota.next(always), rota.next(always), rota.next(always)], ['new.a', 'small.a', 'big.a']);
});

test('a poll that finds nothing uses no turn', () => {
  const rota = createFairScheduler();
  for (const agent of ['one.a', 'two.a', 'two.b']) rota.add(agent);
  for (const expected of ['one.a', 'two.a', 'one.a']) assert.equal(rota.next(always), expected);
  const lookedAt = rota.time;
  assert.equal(rota.next(always), 'two.b');
  rota.add('two.b');
  rota.remove('two.b', lookedAt);
  assert.equal(rota.next(always), 'two.b', 'before the one that had a turn since');
});

test('limits the number of cached names', () => {
  const rota = createFairScheduler();
  for (let n = 0; n <= 10_000; n++) {
    rota.add(`t${n}.a`);
    serveAll(rota, `t${n}.a`);
  }
  for (const agent of ['t1.a', 't0.a']) rota.add(agent);
  assert.equal(rota.next(always), 't0.a', 'as if it had never had a turn');
});
