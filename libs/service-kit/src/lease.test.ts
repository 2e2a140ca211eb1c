import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { collection, openStore, type Collection } from '@switchyard/store';
import { z } from 'zod';
import { createLeases, leaseFields, newWork, type Lease, type LeaseOptions } from './lease.ts';

const Job = z.object({ jobId: z.string(), steps: z.array(z.string()), result: z.string().optional(), ...leaseFields });
type Job = z.infer<typeof Job>;

const jobCollection = collection({ name: 'jobs', schema: Job, key: 'jobId', indexes: [{ fields: ['state', 'leaseUntil'] }] });
const a = { tenant: 'a' };

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/** A store, a manual clock and any number of replicas. */
async function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'lease-'));
  const store = await openStore(`sqlite:${dir}`, { service: 'jobs' });
  const { jobs } = await store.open({ jobs: jobCollection });
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.after(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  const clock = { now: 1_000_000 };
  const replica = (owner: string, options: Partial<LeaseOptions<Job>> = {}) =>
    createLeases({ documents: jobs, owner, now: () => clock.now, ...options });
  const pass = (ms: number) => {
    clock.now += ms;
    t.mock.timers.tick(ms);
  };
  return { store, jobs, clock, pass, replica, one: replica('one'), two: replica('two') };
}

const newJob = (jobId: string): Job => ({ jobId, steps: [], ...newWork() });

async function claimed(claiming: Promise<Lease<Job> | null>): Promise<Lease<Job>> {
  const lease = await claiming;
  assert.ok(lease, 'nothing was claimed');
  return lease;
}

function fenced(error: unknown): boolean {
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.code, error.details.reason, error.retryable], ['ABORTED', 'FENCED', false]);
  return true;
}

test('exactly one of many concurrent claims gets the lease and records its owner', async (t) => {
  const { jobs, replica, clock } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const leases = await Promise.all(Array.from({ length: 20 }, (_, n) => replica(`r${n}`).claim('a')));
  const [lease, ...others] = leases.filter((found) => found !== null);
  assert.ok(lease);
  assert.equal(others.length, 0);
  const { owner } = lease.document;
  assert.match(String(owner), /^r\d+$/);
  assert.deepEqual(lease.document, { ...newJob('1'), owner, state: 'running', leaseUntil: clock.now + LEASE_MS, fence: 1, attempts: 1 });
  assert.deepEqual(await jobs.for(a).get('1'), lease.document);
});

test('claim respects the filter, the order and the tenant', async (t) => {
  const { jobs, one } = await setUp(t);
  for (const id of ['2', '1', '3']) await jobs.for({ tenant: 'b' }).insert(newJob(id));
  assert.equal(await one.claim('a'), null);
  assert.equal((await claimed(one.claim('b', { jobId: '3' }))).document.jobId, '3');
  const lease = await claimed(one.claim(null, {}, { sort: [['jobId', 'asc']] }));
  assert.equal(lease.tenant, 'b');
  assert.equal((await lease.write({ push: { steps: 's' } })).jobId, '1');
  assert.deepEqual(await jobs.for({ tenant: 'b' }).get('1'), lease.document);
});

test('finished work cannot be claimed, and its event is emitted with the final write', async (t) => {
  const { jobs, one, two, store, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const lease = await claimed(one.claim('a'));
  const event = Promise.withResolvers<unknown>();
  await store.publishTo(async ({ name, payload }) => event.resolve({ name, payload }));
  const done = await lease.finish('done', { result: 'ok' }, [{ name: 'job:done', payload: { id: '1' } }]);
  assert.deepEqual([done.state, done.result, done.owner, done.fence, done.attempts], ['done', 'ok', 'one', 1, 1]);
  assert.deepEqual(await event.promise, { name: 'job:done', payload: { id: '1' } });
  pass(10 * LEASE_MS);
  assert.equal(await two.claim('a'), null);
  await assert.rejects(lease.write({ set: { result: 'again' } }), fenced);
  await lease[Symbol.asyncDispose]();
  assert.equal(lease.signal.aborted, false, 'an ended lease is not a lost one');
  assert.deepEqual(await jobs.for(a).get('1'), done);
});

test('renews a lease while it is held', async (t) => {
  const { jobs, one, two, pass, clock } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const lease = await claimed(one.claim('a'));
  for (let n = 0; n < 10; n += 1) {
    pass(RENEW_MS);
    assert.equal((await jobs.for(a).get('1'))?.leaseUntil, clock.now + LEASE_MS);
  }
  assert.equal(await two.claim('a'), null);
  assert.equal(lease.signal.aborted, false);
  await lease.finish('failed');
  pass(RENEW_MS);
  assert.equal((await jobs.for(a).get('1'))?.leaseUntil, 0);
});

test('another replica takes over an expired lease and the old holder is fenced', async (t) => {
  const { jobs, one, two, clock, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const old = await claimed(one.claim('a'));
  await old.write({ push: { steps: 'first' } });
  clock.now += LEASE_MS - 1;
  assert.equal(await two.claim('a'), null, 'not before its time');
  clock.now += 1;
  const taken = await claimed(two.claim('a'));
  assert.deepEqual([taken.fence, taken.document.attempts, taken.document.owner, taken.document.steps], [2, 2, 'two', ['first']]);

  await assert.rejects(old.write({ push: { steps: 'zombie' } }), fenced);
  assert.equal(old.signal.aborted, true);
  await assert.rejects(old.finish('done'), fenced);
  await old.release();
  pass(RENEW_MS);
  assert.deepEqual(await jobs.for(a).get('1'), { ...taken.document, leaseUntil: clock.now + LEASE_MS });
  assert.equal(taken.signal.aborted, false);
});

test('aborts the signal when a renewal finds another lease holder', async (t) => {
  const { jobs, one, two, clock, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const old = await claimed(one.claim('a'));
  clock.now += LEASE_MS;
  await claimed(two.claim('a'));
  assert.equal(old.signal.aborted, false);
  const lost = aborted(old);
  pass(RENEW_MS);
  fenced(await lost);
});

test('the lease holder loses work that was cancelled', async (t) => {
  const { jobs, one, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const lease = await claimed(one.claim('a'));
  await jobs.for(a).update({ jobId: '1' }, { set: { state: 'cancelled' }, inc: { fence: 1 } });
  const lost = aborted(lease);
  pass(RENEW_MS);
  fenced(await lost);
});

test('aborts the signal after two failed renewals, not after one', async (t) => {
  const { jobs, one, store, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const lease = await claimed(one.claim('a'));
  await store.close();
  pass(RENEW_MS);
  await assert.rejects(lease.write({}), { code: 'UNAVAILABLE' });
  assert.equal(lease.signal.aborted, false);
  const lost = aborted(lease);
  pass(RENEW_MS);
  const reason = await lost;
  assert.ok(reason instanceof ServiceError);
  assert.deepEqual([reason.code, reason.details.reason], ['ABORTED', 'LEASE_LOST']);
});

test('aborts the signal before the lease expires when the database does not respond', async (t) => {
  const { jobs, replica, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const silent: Collection<Job> = {
    ...jobs,
    for: (principal) => ({ ...jobs.for(principal), update: () => Promise.withResolvers<null>().promise }),
  };
  const claiming: Collection<Job> = { ...silent, system: () => jobs.system() };
  const lease = await claimed(replica('one', { documents: claiming }).claim(null));
  pass(RENEW_MS);
  pass(RENEW_MS);
  assert.equal(lease.signal.aborted, false);
  pass(RENEW_MS);
  assert.equal(lease.signal.aborted, true);
});

test('released work can be claimed at once, and disposing a lease releases it', async (t) => {
  const { jobs, one, two, pass } = await setUp(t);
  await jobs.for(a).insert(newJob('1'));
  const first = await claimed(one.claim('a'));
  await first.release();
  assert.deepEqual([first.document.state, first.document.owner, first.document.leaseUntil], ['queued', null, 0]);
  {
    await using second = await claimed(two.claim('a'));
    assert.deepEqual([second.fence, second.document.attempts], [2, 2]);
  }
  pass(RENEW_MS);
  assert.equal((await jobs.for(a).get('1'))?.state, 'queued');
  assert.equal((await claimed(one.claim('a'))).fence, 3);
});

function aborted(lease: Lease<Job>): Promise<unknown> {
  return new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(lease.signal.reason), { once: true }));
}
