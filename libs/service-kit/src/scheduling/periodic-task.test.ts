import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { atIntervals } from './periodic-task.ts';

/** A clock that strikes when it is told to. */
function striking() {
  let strike: (() => void) | undefined;
  const every = (_ms: number, work: () => void) => {
    strike = work;
    return () => void (strike = undefined);
  };
  return { clock: { every }, strike: () => strike?.() };
}

test('work is done at each strike, but never twice at once; what fails is told, and done again', async () => {
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

test('who closes it waits for what is under way, which is told to stop; its failure is nobody’s then', async () => {
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
