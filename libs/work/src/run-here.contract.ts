import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AddOptions } from './index.ts';
import { a, newJob, openWork, type Job, type OpenStore } from './work.fixture.ts';

const DRAIN_MS = 4_321;

export function runHereContract(store: string, open: OpenStore): void {
  test(`${store}: runs a document here in the write that adds it, and elsewhere after a kill`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const [started, finish, elsewhere] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<number>()];
    const one = replica('one', () => assert.fail('the document was claimed'), { capacity: () => 0 });
    const two = replica('two', async ({ fence }) => {
      elsewhere.resolve(fence);
      return { end: 'done', set: { result: 'two' } };
    });
    const runHere: AddOptions<Job>['runHere'] = async () => {
      started.resolve();
      await finish.promise;
      return { end: 'done', set: { result: 'one' } };
    };
    assert.equal((await one.add(a, newJob('1'), { runHere })).existed, false);
    await started.promise;
    assert.equal((await one.add(a, newJob('1'), { runHere: () => assert.fail('the document exists') })).existed, true);
    const job = await jobs.get('1');
    assert.deepEqual([job?.state, job?.owner, job?.fence, job?.attempts], ['running', 'one', 1, 1]);
    await two.poll();
    clock.now += 6_000;
    await two.poll();
    assert.equal(await elsewhere.promise, 2);
    finish.resolve();
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
    assert.equal((await jobs.get('1'))?.result, 'two');
  });

  test(`${store}: reports an outcome after it was written, also when the reply was lost, and its loss to a cancellation`, async (t) => {
    const { replica, failures } = await openWork(t, open);
    const reports: string[] = [];
    // Repeats the write at once. The poll timers are longer.
    const after = (delayMs: number, task: () => void) => {
      if (delayMs < 1_000) setImmediate(task);
      return () => undefined;
    };
    const work = replica('one', () => assert.fail('no document is claimed'), { after });
    const run = async (jobId: string, prepare: () => Promise<unknown>): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const runHere: AddOptions<Job>['runHere'] = async () => {
        await prepare();
        return {
          end: 'done',
          onSettled(isWritten) {
            reports.push(`${jobId} ${isWritten}`);
            resolve();
          },
        };
      };
      await work.add(a, newJob(jobId), { runHere });
      await promise;
    };
    await run('written', async () => undefined);
    await run('lost reply', async () => failures.push('before', 'after'));
    await run('cancelled', () => work.cancel('a', 'cancelled'));
    assert.deepEqual(reports, ['written true', 'lost reply true', 'cancelled false']);
  });

  test(`${store}: waits at disposal for running documents, and releases those that do not end in time`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const timers: (() => void)[] = [];
    const after = (delayMs: number, task: () => void) => {
      if (delayMs === DRAIN_MS) timers.push(task);
      return () => undefined;
    };
    const finish = Promise.withResolvers<void>();
    const work = replica('one', () => assert.fail('no document is claimed'), { after, drainMs: DRAIN_MS });
    await work.add(a, newJob('ends'), { runHere: () => finish.promise.then(() => ({ end: 'done' })) });
    await work.add(a, newJob('hangs'), {
      runHere: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const disposed = work[Symbol.asyncDispose]();
    while (timers.length === 0) await new Promise(setImmediate);
    finish.resolve();
    while ((await jobs.get('ends'))?.state !== 'done') await new Promise(setImmediate);
    assert.equal((await jobs.get('hangs'))?.state, 'running');
    for (const task of timers) task();
    await disposed;
    const { state, dueAt } = (await jobs.get('hangs')) ?? assert.fail();
    assert.deepEqual([state, dueAt], ['queued', clock.now]);
  });

  test(`${store}: cancels a document only if the guard matches`, async (t) => {
    const { replica } = await openWork(t, open);
    const work = replica('one', async () => ({ end: 'done' }));
    await work.add(a, { ...newJob('1'), firesAt: 'now' });
    assert.equal(await work.cancel('a', '1', { result: 'gone' }, { firesAt: 'never' }), null);
    const cancelled = await work.cancel('a', '1', { result: 'gone' }, { firesAt: 'now' });
    assert.deepEqual([cancelled?.state, cancelled?.result], ['cancelled', 'gone']);
  });
}
