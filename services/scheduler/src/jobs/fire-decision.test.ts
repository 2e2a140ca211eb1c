import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideFire, getNextFire, type FireDecision } from './fire-decision.ts';

type Job = Parameters<typeof decideFire>[0];

const MINUTE_MS = 60_000;
/** A job that fires every minute from 0. */
const everyMinute: Job = {
  jobId: 'job_1',
  schedule: { kind: 'interval', everyMs: MINUTE_MS, anchorMs: 0 },
  enabled: true,
  firedUntil: 0,
  consecutiveErrors: 0,
  overlap: 'skip',
  jitterMs: 0,
};

async function decide(more: Partial<Job>, now: number, openRuns = 0): Promise<FireDecision> {
  return decideFire({ ...everyMinute, ...more }, now, async () => openRuns);
}

async function reasons(more: Partial<Job>, now: number, openRuns = 0): Promise<string[]> {
  const decision = await decide(more, now, openRuns);
  return decision.kind === 'wait' ? [] : decision.skipped.map(({ firedAt, reason }) => `${firedAt}: ${reason}`);
}

test('a job waits for its fire, and fires at it', async () => {
  assert.deepEqual(await decide({}, 59_999), { kind: 'wait', until: MINUTE_MS });
  assert.deepEqual(await decide({}, MINUTE_MS), { kind: 'fire', firedAt: MINUTE_MS, skipped: [] });
  assert.deepEqual(await decide({ enabled: false }, MINUTE_MS), { kind: 'wait', until: null });
  assert.deepEqual(await decide({ schedule: { kind: 'once', atMs: 5 }, firedUntil: 5 }, 9), { kind: 'wait', until: null });
});

test('fires that passed become one run, and the first of them is recorded as missed', async () => {
  const decision = await decide({}, 5 * MINUTE_MS + 1);
  assert.deepEqual([decision.kind, 'firedAt' in decision && decision.firedAt], ['fire', 5 * MINUTE_MS]);
  assert.deepEqual(await reasons({}, 5 * MINUTE_MS + 1), [
    '60000: this and later fires were missed; the fire of 1970-01-01T00:05:00.000Z stands for all of them',
  ]);
});

test('a missed fire runs within withinMs, unless the policy is skip', async () => {
  const daily: Partial<Job> = { schedule: { kind: 'once', atMs: MINUTE_MS } };
  const kind = async (more: Partial<Job>, now: number) => (await decide({ ...daily, ...more }, now)).kind;
  assert.equal(await kind({}, MINUTE_MS + 3_600_000), 'fire');
  assert.equal(await kind({}, MINUTE_MS + 3_600_001), 'skip');
  const skip = { missedRuns: { policy: 'skip' as const, withinMs: 0 } };
  assert.equal(await kind(skip, MINUTE_MS + 60_000), 'fire');
  assert.equal(await kind(skip, MINUTE_MS + 60_001), 'skip');
  assert.match((await reasons({ ...daily, ...skip }, MINUTE_MS + 61_000)).join(), /missed by 61 s, and missedRuns.policy is skip/);
  assert.match((await reasons(daily, MINUTE_MS + 7_200_000)).join(), /missed by 7200 s, more than missedRuns.withinMs \(3600000 ms\)/);
});

test('a fire during a run is skipped, queued or allowed', async () => {
  assert.equal((await decide({}, MINUTE_MS, 1)).kind, 'skip');
  assert.match((await reasons({}, MINUTE_MS, 1)).join(), /has not ended/);
  assert.equal((await decide({ overlap: 'queue' }, MINUTE_MS, 9)).kind, 'fire');
  assert.equal((await decide({ overlap: 'queue' }, MINUTE_MS, 10)).kind, 'skip');
  assert.equal((await decide({ overlap: 'allow' }, MINUTE_MS, 100)).kind, 'fire');
});

test('during a back-off the first fire is recorded, and the next one is after it', async () => {
  const failing = { backoffUntil: 5 * MINUTE_MS, consecutiveErrors: 3 };
  assert.equal(getNextFire({ ...everyMinute, ...failing }), 5 * MINUTE_MS);
  assert.deepEqual(await decide(failing, MINUTE_MS - 1), { kind: 'wait', until: MINUTE_MS });
  assert.deepEqual(await decide(failing, MINUTE_MS), {
    kind: 'skip',
    firedUntil: 5 * MINUTE_MS - 1,
    skipped: [{ firedAt: MINUTE_MS, reason: 'backing off after 3 errors in a row; the next fire is not before 1970-01-01T00:05:00.000Z' }],
  });
  assert.equal((await decide({ ...failing, firedUntil: 5 * MINUTE_MS - 1 }, 5 * MINUTE_MS)).kind, 'fire');
});

test('jitter delays each fire by a time below the period that depends on the job and the instant only', async () => {
  const delays = new Set<number>();
  for (let minute = 0; minute < 50; minute += 1) {
    const job = { jitterMs: 3_600_000, firedUntil: minute * MINUTE_MS };
    const wait = await decide(job, job.firedUntil);
    assert.ok(wait.kind === 'wait' && wait.until !== null);
    const delay = wait.until - (minute + 1) * MINUTE_MS;
    assert.ok(delay >= 0 && delay < MINUTE_MS, String(delay));
    assert.deepEqual(await decide(job, wait.until), { kind: 'fire', firedAt: (minute + 1) * MINUTE_MS, skipped: [] });
    delays.add(delay);
  }
  assert.ok(delays.size > 40);
});
