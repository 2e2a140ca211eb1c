import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { inserted, openStore, type Collection } from '@switchyard/store';
import { tempDir } from '@switchyard/testkit';
import { newWork, type Work } from '@switchyard/work';
import { jobCollection, runCollection, type JobDocument, type RunDocument } from '../documents/collections.ts';
import { createJobWork } from './job-work.ts';

const a = { tenant: 'a' };
const PERIOD_MS = 1_000;
const FIRES = 12;

/** A job that fires every second from 0. */
const everySecond: JobDocument = {
  ...newWork(),
  jobId: 'job_1',
  name: 'tick',
  agentId: 'default',
  message: 'What time is it?',
  schedule: { kind: 'interval', everyMs: PERIOD_MS, anchorMs: 0 },
  principal: { client: 'test', scopes: ['*'] },
  sessionStrategy: 'fresh',
  overlap: 'allow',
  jitterMs: 0,
  enabled: true,
  firedUntil: 0,
  revision: 0,
  createdAt: 0,
  consecutiveErrors: 0,
  firesSinceSuccess: 0,
};

async function openJobs(t: TestContext) {
  const data = await tempDir();
  const store = await openStore(`sqlite:${data.path}`, { service: 'scheduler', strict: true });
  const { jobs, runs } = await store.open({ jobs: jobCollection, runs: runCollection });
  const clock = { now: 0 };
  const replicas: Work<JobDocument>[] = [];
  t.after(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await store.close();
    await data[Symbol.asyncDispose]();
  });
  const replica = (owner: string, documents: Collection<JobDocument> = jobs): Work<JobDocument> => {
    const log = { warn: () => undefined };
    const addRun = (tenant: string, { run }: { run: RunDocument }) => inserted(() => runs.for({ tenant }).insert(run));
    const work = createJobWork({ jobs: documents, runs, owner, now: () => clock.now, enabled: () => true, log, addRun });
    replicas.push(work);
    return work;
  };
  /** Resolves when the job waits for a time after now. */
  const settled = async (poll: () => Promise<unknown>): Promise<void> => {
    for (;;) {
      await poll();
      const job = await jobs.for(a).get('job_1');
      if (job?.state === 'parked' && (job.dueAt ?? 0) > clock.now) return;
    }
  };
  const listRuns = async () => (await runs.for(a).find({ jobId: 'job_1' }, { sort: [['runAt', 'asc']] })).items;
  return { jobs, clock, replica, settled, listRuns };
}

test('three replicas fire each instant once', { timeout: 60_000 }, async (t) => {
  const { jobs, clock, replica, settled, listRuns } = await openJobs(t);
  const replicas = ['one', 'two', 'three'].map((owner) => replica(owner));
  await jobs.for(a).insert({ ...everySecond, dueAt: PERIOD_MS });
  for (let fire = 1; fire <= FIRES; fire += 1) {
    clock.now = fire * PERIOD_MS;
    await settled(() => Promise.all(replicas.map((one) => one.poll())));
  }
  const runs = await listRuns();
  assert.deepEqual(
    runs.map(({ runAt, status }) => [runAt, status]),
    Array.from({ length: FIRES }, (_, at) => [(at + 1) * PERIOD_MS, undefined]),
  );
});

test('a crash between the run and the job fires nothing twice', { timeout: 60_000 }, async (t) => {
  const { jobs, clock, replica, settled, listRuns } = await openJobs(t);
  let crashes = 1;
  const crashing: Collection<JobDocument> = {
    ...jobs,
    key: jobs.key,
    system: () => jobs.system(),
    for: (principal) => {
      const own = jobs.for(principal);
      const update: typeof own.update = async (filter, change) => {
        if (change.set?.firedUntil !== undefined && crashes-- > 0) throw new Error('the replica crashed');
        return own.update(filter, change);
      };
      return { ...own, update };
    },
  };
  await jobs.for(a).insert({ ...everySecond, dueAt: PERIOD_MS });
  clock.now = PERIOD_MS;
  const crashed = replica('crashed', crashing);
  await crashed.poll();
  await crashed[Symbol.asyncDispose]();
  assert.deepEqual(
    (await listRuns()).map(({ runAt }) => runAt),
    [PERIOD_MS],
  );
  assert.equal((await jobs.for(a).get('job_1'))?.firedUntil, 0);
  clock.now = 2 * PERIOD_MS;
  await settled(() => replica('next').poll());
  assert.deepEqual(
    (await listRuns()).map(({ runAt, status }) => [runAt, status]),
    [
      [PERIOD_MS, undefined],
      [2 * PERIOD_MS, undefined],
    ],
  );
});

test('a job that was restored from a backup fires nothing twice that its runs record', { timeout: 60_000 }, async (t) => {
  const { jobs, clock, replica, settled, listRuns } = await openJobs(t);
  await jobs.for(a).insert({ ...everySecond, dueAt: PERIOD_MS });
  const work = replica('one');
  const fireUntil = async (last: number): Promise<void> => {
    while (clock.now < last) {
      clock.now += PERIOD_MS;
      await settled(() => work.poll());
    }
  };
  await fireUntil(3 * PERIOD_MS);
  const backup = await jobs.for(a).get('job_1');
  await fireUntil(8 * PERIOD_MS);
  const before = await listRuns();
  assert.ok(backup);
  await jobs.for(a).replace(backup);
  await fireUntil(10 * PERIOD_MS);
  const after = await listRuns();
  assert.deepEqual(after.slice(0, before.length), before);
  assert.deepEqual(
    after.map(({ runAt }) => runAt),
    Array.from({ length: 10 }, (_, at) => (at + 1) * PERIOD_MS),
  );
});
