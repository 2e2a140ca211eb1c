import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { WorkOptions } from './index.ts';
import { a, isFenced, newJob, openWork, unavailable, type Job, type OpenStore } from './work.fixture.ts';

/** Documents that are due when a service starts. */
const BACKLOG = 20;

export function workContract(store: string, open: OpenStore): void {
  test(`${store}: ends a document once and emits its event with the final write`, async (t) => {
    const { store: opened, jobs, replica } = await openWork(t, open);
    const event = Promise.withResolvers<string>();
    await opened.publishTo(async ({ name }) => event.resolve(name));
    const work = replica('one', async () => ({ end: 'done', set: { result: 'ok' }, emit: [{ name: 'job:done', payload: {} }] }));
    assert.equal((await work.add(a, newJob('1'))).existed, false);
    assert.equal((await work.add(a, newJob('1'))).existed, true);
    await work.poll();
    assert.equal(await event.promise, 'job:done');
    const job = await jobs.get('1');
    assert.deepEqual([job?.state, job?.result, job?.attempts, job?.dueAt], ['done', 'ok', 1, undefined]);
    assert.equal(await work.cancel('a', '1'), null);
    assert.equal(await work.wake('a', '1'), null);
  });

  test(`${store}: fences a holder whose lease expired and lets another replica end the work`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const resume = Promise.withResolvers<void>();
    const outcome = Promise.withResolvers<{ held: boolean; fenced: boolean }>();
    const one = replica('one', async (lease) => {
      await resume.promise;
      const held = lease.isHeld();
      outcome.resolve({ held, fenced: await lease.write({ set: { result: 'old' } }).then(() => false, isFenced) });
      return { end: 'failed' };
    });
    const ended = Promise.withResolvers<void>();
    const two = replica('two', async (lease) => {
      await lease.write({ set: { result: 'new' } });
      ended.resolve();
      return { end: 'done' };
    });
    await one.add(a, newJob('1'));
    await one.poll();
    clock.now += 5_999;
    await two.poll();
    assert.equal((await jobs.get('1'))?.owner, 'one', 'the lease has not expired');
    clock.now += 1;
    await two.poll();
    await ended.promise;
    resume.resolve();
    assert.deepEqual(await outcome.promise, { held: false, fenced: true });
    await two[Symbol.asyncDispose]();
    const job = await jobs.get('1');
    assert.deepEqual([job?.owner, job?.fence, job?.result], ['two', 2, 'new']);
  });

  test(`${store}: an idle replica that received no wake takes over within ten seconds of a kill`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    let ended = false;
    let timer = Promise.withResolvers<{ task: () => void; delayMs: number }>();
    const after = (delayMs: number, task: () => void) => {
      timer.resolve({ task, delayMs });
      return () => undefined;
    };
    const run: WorkOptions<Job>['run'] = async () => {
      ended = true;
      return { end: 'done' };
    };
    await replica('idle', run, { after }).poll();
    const killedAt = clock.now;
    const until = killedAt + 6_000;
    await jobs.insert({ ...newJob('1'), state: 'running', owner: 'killed', leaseUntil: until, dueAt: until, fence: 1, attempts: 1 });
    // Each poll ends by setting the timer of the next one.
    while (!ended) {
      const { task, delayMs } = await timer.promise;
      timer = Promise.withResolvers();
      clock.now += delayMs;
      assert.ok(clock.now - killedAt <= 10_000, 'the replica polls again too late');
      task();
    }
  });

  test(`${store}: startDue returns before the first document of a backlog starts, and poll after the last one`, async (t) => {
    const { replica } = await openWork(t, open);
    const resume = Promise.withResolvers<void>();
    const startBacklog = async (operation: 'startDue' | 'poll'): Promise<void> => {
      const started = new Set<string>();
      const all = Promise.withResolvers<void>();
      const run: WorkOptions<Job>['run'] = async ({ document }) => {
        if (started.add(document.jobId).size === BACKLOG) all.resolve();
        await resume.promise;
        return { end: 'done' };
      };
      const work = replica(operation, run, { capacity: () => BACKLOG });
      for (let n = 0; n < BACKLOG; n += 1) await work.add(a, newJob(`${operation}-${n}`));
      const returned: unknown = work[operation]();
      await returned;
      assert.equal(started.size, operation === 'poll' ? BACKLOG : 0);
      await all.promise;
    };
    await startBacklog('startDue')
      .then(() => startBacklog('poll'))
      .finally(resume.resolve);
  });

  test(`${store}: a failure of startDue is repeated by the timer`, async (t) => {
    const { failures, replica } = await openWork(t, open);
    const timer = Promise.withResolvers<() => void>();
    const started = Promise.withResolvers<string>();
    const run: WorkOptions<Job>['run'] = async ({ document }) => {
      started.resolve(document.jobId);
      return { end: 'done' };
    };
    const work = replica('one', run, { after: (_ms, task) => (timer.resolve(task), () => undefined) });
    await work.add(a, newJob('1'));
    failures.push('before');
    work.startDue();
    (await timer.promise)();
    assert.equal(await started.promise, '1');
  });

  test(`${store}: runs a document again if a wake arrives before it parks`, async (t) => {
    const { jobs, replica } = await openWork(t, open);
    const ended = Promise.withResolvers<void>();
    let runs = 0;
    const work = replica('one', async () => {
      runs += 1;
      if (runs === 2) {
        ended.resolve();
        return { end: 'done' };
      }
      assert.ok(await work.wake('a', '1', { set: { result: 'answer' } }));
      return { parkUntil: 9_000_000 };
    });
    await work.add(a, newJob('1'));
    await work.poll();
    await ended.promise;
    const job = await jobs.get('1');
    assert.deepEqual([runs, job?.result, job?.attempts], [2, 'answer', 1]);
  });

  test(`${store}: applies the poison outcome after maxAttempts failed runs`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    let runs = 0;
    let failed = Promise.withResolvers<void>();
    const work = replica('one', async () => {
      runs += 1;
      failed.resolve();
      throw new Error('broken');
    });
    await work.add(a, newJob('1'));
    for (let n = 0; n < 2; n += 1) {
      failed = Promise.withResolvers();
      await work.poll();
      await failed.promise;
      while ((await jobs.get('1'))?.state === 'running') await new Promise(setImmediate);
      clock.now += 60_000;
    }
    await work.poll();
    while ((await jobs.get('1'))?.state !== 'failed') await new Promise(setImmediate);
    assert.deepEqual([runs, (await jobs.get('1'))?.result], [2, 'poison']);
  });

  test(`${store}: releases running work at disposal`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const work = replica('one', ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))));
    await work.add(a, newJob('1'));
    await work.poll();
    await work[Symbol.asyncDispose]();
    const job = await jobs.get('1');
    assert.deepEqual([job?.state, job?.dueAt, job?.attempts], ['queued', clock.now, 0]);
  });

  test(`${store}: returns the document with the same unique set, and rejects another fingerprint`, async (t) => {
    const { replica } = await openWork(t, open);
    const work = replica('one', async () => ({ end: 'done' }));
    const add = (jobId: string, fingerprint: string) =>
      work.add(a, { ...newJob(jobId), firesAt: 'job@1' }, { key: ['firesAt'], fingerprint });
    assert.equal((await add('1', 'x')).existed, false);
    const { document, existed } = await add('2', 'x');
    assert.deepEqual([document.jobId, existed], ['1', true]);
    await assert.rejects(add('3', 'y'), (error) => error instanceof ServiceError && error.details.reason === 'IDEMPOTENCY_MISMATCH');
    await work.add(a, newJob('3'));
    await assert.rejects(
      add('3', 'x').then(async () => work.add(a, { ...newJob('3'), firesAt: 'job@2' }, { key: ['firesAt'] })),
      {
        code: 'ABORTED',
      },
    );
  });

  test(`${store}: repeats a write while the database is away until the lease is lost`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const away = unavailable();
    const [polled, results] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown[]>()];
    let isRetrying = false;
    const after = (delayMs: number, task: () => void) => {
      if (isRetrying) {
        clock.now += delayMs;
        setImmediate(task);
      }
      return () => undefined;
    };
    const work = replica(
      'one',
      async ({ persist, write }) => {
        await polled.promise;
        isRetrying = true;
        let failures = 3;
        const written = await persist(async () => {
          failures -= 1;
          if (failures > 0) throw away;
          return write({ set: { result: 'written' } });
        });
        const lost = await persist(() => Promise.reject(away)).catch(isFenced);
        isRetrying = false;
        results.resolve([written.result, failures, lost]);
        return { end: 'done' };
      },
      { after },
    );
    await jobs.insert({ ...newJob('1'), dueAt: clock.now });
    await work.poll();
    polled.resolve();
    assert.deepEqual(await results.promise, ['written', 0, true]);
  });

  test(`${store}: writes the outcome of a run once although the database was away`, async (t) => {
    const { jobs, replica, failures } = await openWork(t, open);
    let runs = 0;
    // Repeats the write at once. The poll timers are longer.
    const after = (delayMs: number, task: () => void) => {
      if (delayMs < 1_000) setImmediate(task);
      return () => undefined;
    };
    const work = replica(
      'one',
      async () => {
        runs += 1;
        failures.push('before', 'before', 'after');
        return { end: 'done' };
      },
      { after },
    );
    await jobs.insert({ ...newJob('1'), dueAt: 1 });
    await work.poll();
    while ((await jobs.get('1'))?.state !== 'done') await new Promise(setImmediate);
    assert.equal(runs, 1);
  });
}
