import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Outcome } from './index.ts';
import { a, newJob, openWork, unavailable, type Job, type OpenStore } from './work.fixture.ts';

const DONE: Outcome<Job> = { end: 'done' };

/** Runs that end when the test says so. */
function createRuns() {
  const started: string[] = [];
  const outcomes = new Map<string, PromiseWithResolvers<Outcome<Job>>>();
  const starts = new Map<string, PromiseWithResolvers<void>>();
  const getStart = (jobId: string) => starts.get(jobId) ?? starts.set(jobId, Promise.withResolvers<void>()).get(jobId)!;
  return {
    started,
    /** Resolves when the document starts. Each call waits for a further start. */
    async start(jobId: string): Promise<void> {
      await getStart(jobId).promise;
      starts.delete(jobId);
    },
    end: (jobId: string, outcome: Outcome<Job> = DONE) => outcomes.get(jobId)?.resolve(outcome),
    run({ document: { jobId }, signal }: Lease<Job>): Promise<Outcome<Job>> {
      started.push(jobId);
      const outcome = Promise.withResolvers<Outcome<Job>>();
      signal.addEventListener('abort', () => outcome.reject(signal.reason as Error));
      outcomes.set(jobId, outcome);
      getStart(jobId).resolve();
      return outcome.promise;
    },
  };
}

export function roomsContract(store: string, open: OpenStore): void {
  test(`${store}: runs the documents of a strict room in the order of acceptance, also when one is retried`, async (t) => {
    const { clock, replica } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const work = replica('one', run, { max: 1, capacity: () => 3 });
    // The keys are not in the order of acceptance.
    for (const jobId of ['3', '1', '2']) await work.add(a, newJob(jobId, 'r'));
    await work.poll();
    await start('3');
    end('3', { retryAt: clock.now + 1_000 });
    await work.poll();
    clock.now += 1_000;
    await work.poll();
    for (const jobId of ['3', '1', '2']) {
      await start(jobId);
      await work.poll();
      end(jobId);
    }
    assert.deepEqual(started, ['3', '3', '1', '2']);
  });

  test(`${store}: never runs more documents of a room than its maximum on all replicas`, async (t) => {
    const { jobs, replica } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const works = ['one', 'two', 'three'].map((owner) => replica(owner, run, { max: 2, capacity: () => 5 }));
    for (let n = 1; n <= 5; n += 1) await works[0]!.add(a, newJob(`${n}`, 'r'));
    const pollAll = () => Promise.all(works.map((work) => work.poll()));
    for (let n = 0; n < 5; n += 1) await pollAll();
    assert.equal((await jobs.find({ state: 'running' })).items.length, 2);
    const third = ['1', '2', '3', '4', '5'].find((jobId) => !started.includes(jobId)) ?? '';
    end(started[0] ?? '');
    await start(third);
    await pollAll();
    assert.equal(started.length, 3);
  });

  test(`${store}: starts a document of the room that has waited longest`, async (t) => {
    const { replica, clock } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const work = replica('one', run, { max: 2 });
    for (let n = 1; n <= 3; n += 1) await work.add(a, newJob(`busy${n}`, 'busy'));
    clock.now += 1;
    await work.add(a, newJob('light', 'light'));
    clock.now += 1;
    await work.poll();
    for (const jobId of ['busy1', 'light', 'busy2', 'busy3']) {
      await start(jobId);
      clock.now += 1;
      end(jobId);
    }
    assert.deepEqual(started, ['busy1', 'light', 'busy2', 'busy3']);
  });

  test(`${store}: lets other documents use the room while one is parked`, async (t) => {
    const { jobs, replica, clock } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const work = replica('one', run, { max: 1 });
    for (const jobId of ['1', '2']) await work.add(a, newJob(jobId, 'r'));
    await work.poll();
    await start('1');
    end('1', { parkUntil: clock.now + 1_000_000 });
    await start('2');
    const answers = await Promise.all([1, 2].map((n) => work.wake('a', '1', { set: { result: `${n}` } }, { state: 'parked' })));
    assert.equal(answers.filter((answer) => answer !== null).length, 1, 'the first answer wins');
    await work.poll();
    assert.deepEqual(started, ['1', '2'], 'the woken document waits for the room');
    end('2');
    await start('1');
    assert.deepEqual([(await jobs.get('1'))?.attempts, (await jobs.get('1'))?.slot], [1, 0]);
    end('1', { parkUntil: clock.now + 1_000 });
    while ((await jobs.get('1'))?.state !== 'parked') await new Promise(setImmediate);
    clock.now += 10_000;
    await work.poll();
    await start('1');
  });

  test(`${store}: keeps the slot of a document that is parked with keepSlot until it ends`, async (t) => {
    const { jobs, replica, clock } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const work = replica('one', run, { max: 1 });
    for (const jobId of ['1', '2']) await work.add(a, newJob(jobId, 'r'));
    await work.poll();
    await start('1');
    end('1', { parkUntil: clock.now + 1_000_000, keepSlot: true });
    while ((await jobs.get('1'))?.state !== 'parked') await new Promise(setImmediate);
    clock.now += 10_000;
    await work.poll();
    assert.deepEqual(started, ['1'], 'the room is full');
    await work.wake('a', '1');
    await work.poll();
    await start('1');
    end('1');
    await start('2');
    assert.deepEqual(started, ['1', '1', '2']);
  });

  test(`${store}: keeps the slot of a document whose run throws until the retry ends`, async (t) => {
    const { jobs, replica, clock } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    let isAway = true;
    const work = replica('one', (lease) => (isAway ? Promise.reject(unavailable()) : run(lease)), { max: 2, capacity: () => 3 });
    for (const jobId of ['1', '2']) await work.add(a, newJob(jobId, 'r'));
    await work.poll();
    while ((await jobs.count({ state: 'queued', slot: { exists: true } })) < 2) await new Promise(setImmediate);
    isAway = false;
    await work.add(a, newJob('3', 'r'));
    clock.now += 500;
    await work.poll();
    assert.deepEqual(started, [], 'the work of the thrown runs may go on elsewhere');
    clock.now += 500;
    await work.poll();
    await Promise.all([start('1'), start('2')]);
    end('1');
    await start('3');
    assert.equal(started.at(-1), '3');
  });

  test(`${store}: gives the slot of a killed holder to the next holder of the same document`, async (t) => {
    const { jobs, clock, replica } = await openWork(t, open);
    const { started, start, end, run } = createRuns();
    const killed = replica('killed', createRuns().run, { max: 1 });
    for (const jobId of ['1', '2']) await killed.add(a, newJob(jobId, 'r'));
    await killed.poll();
    const work = replica('one', run, { max: 1 });
    await work.poll();
    assert.deepEqual(started, []);
    clock.now += 6_000;
    await work.poll();
    await start('1');
    assert.deepEqual([(await jobs.get('1'))?.owner, (await jobs.get('2'))?.state], ['one', 'queued']);
    end('1');
    await start('2');
    end('2');
  });

  test(`${store}: starts the next document of a room after a cancellation`, async (t) => {
    const { replica } = await openWork(t, open);
    const { start, run } = createRuns();
    const work = replica('one', run, { max: 1, capacity: () => 2 });
    for (const jobId of ['1', '2', '3']) await work.add(a, newJob(jobId, 'r'));
    await work.poll();
    await start('1');
    assert.ok(await work.cancel('a', '2'));
    assert.ok(await work.cancel('a', '1'));
    await work.poll();
    await start('3');
  });

  test(`${store}: starts a document whose adder crashed before it announced the document`, async (t) => {
    const { jobs, rooms, clock, replica } = await openWork(t, open);
    const { start, run } = createRuns();
    const work = replica('one', run, { max: 1 });
    const { document } = await work.add(a, newJob('1', 'r'));
    await rooms.remove({ room: document.waitRoom ?? '' });
    await work.poll();
    assert.equal((await jobs.get('1'))?.state, 'queued');
    clock.now += 60_000;
    await work.poll();
    await start('1');
  });

  test(`${store}: removes a room in which no document waits or runs`, async (t) => {
    const { rooms, replica } = await openWork(t, open);
    const work = replica('one', async () => DONE, { max: 1 });
    await work.add(a, newJob('1', 'r'));
    assert.equal(await rooms.count({}), 1);
    await work.poll();
    while ((await rooms.count({})) > 0) await new Promise(setImmediate);
  });

  test(`${store}: polls with as many reads for many waiting documents as for few`, async (t) => {
    const { replica, reads } = await openWork(t, open);
    const { start, run } = createRuns();
    const work = replica('one', run, { max: 1, capacity: () => 9 });
    const countReads = async (): Promise<number> => {
      const before = reads();
      await work.poll();
      return reads() - before;
    };
    for (let n = 0; n < 3; n += 1) await work.add(a, newJob(`few${n}`, 'r'));
    await work.poll();
    await start('few0');
    const few = await countReads();
    for (let n = 0; n < 40; n += 1) await work.add(a, newJob(`${n}`, 'r'));
    await work.poll();
    assert.equal(await countReads(), few);
  });
}
