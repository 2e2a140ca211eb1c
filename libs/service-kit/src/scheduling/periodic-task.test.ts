import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { atIntervals } from './periodic-task.ts';

/** A clock that ticks on request. */
function striking() {
  let strike: (() => void) | undefined;
  const every = (_ms: number, work: () => void) => {
    strike = work;
    return () => void (strike = undefined);
  };
  return { clock: { every }, strike: () => strike?.() };
}

test('atIntervals runs on each tick without overlap and reports failed runs', async () => {
  const { clock, strike } = striking();
  const running: PromiseWithResolvers<void>[] = [];
  const failures: unknown[] = [];
  await using _work = atIntervals({ clock, ms: 1, failed: (error) => void failures.push(error) }, () => {
    running.push(Promise.withResolvers<void>());
    return running.at(-1)?.promise ?? assert.fail();
  });
  strike();
  strike();
  assert.equal(running.length, 1);
  running[0]?.reject('away');
  await turn();
  assert.deepEqual(failures, ['away']);
  strike();
  assert.equal(running.length, 2);
  running[1]?.resolve();
});

test('disposing a periodic task waits for the current run and ignores its failure', async () => {
  const { clock, strike } = striking();
  const failures: unknown[] = [];
  const { promise, reject } = Promise.withResolvers<void>();
  let isClosed = (): boolean => false;
  const work = atIntervals({ clock, ms: 1, failed: (error) => void failures.push(error) }, (closed) => {
    isClosed = closed;
    return promise;
  });
  strike();
  let ended = false;
  const ending = work[Symbol.asyncDispose]().then(() => (ended = true));
  await turn();
  assert.deepEqual([isClosed(), ended], [true, false]);
  reject('cut');
  await ending;
  assert.deepEqual(failures, []);
});
