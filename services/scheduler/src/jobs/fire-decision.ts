import { createHash } from 'node:crypto';
import type { JobDocument } from '../documents/collections.ts';
import { describeExclusion, findExclusion } from '../schedule/exclusion.ts';
import { findLastFire, findNextFire, type Schedule } from '../schedule/schedule.ts';

/** A fire that is later than this was missed: no replica ran, or the database was away for long. */
const MISSED_AFTER_MS = 60_000;
const DEFAULT_MISSED_RUNS = { policy: 'once', withinMs: 3_600_000 } as const;
/** Runs of a job with `overlap: queue` that have not ended. */
const MAX_QUEUED_RUNS = 10;

type Job = Pick<
  JobDocument,
  'jobId' | 'schedule' | 'enabled' | 'firedUntil' | 'backoffUntil' | 'consecutiveErrors' | 'overlap' | 'missedRuns' | 'jitterMs' | 'exclude'
>;

export interface SkippedFire {
  firedAt: number;
  reason: string;
}

/** What a due job does. Every fire is either run or recorded as skipped with its reason. */
export type FireDecision =
  | { kind: 'wait'; until: number | null }
  | { kind: 'fire'; firedAt: number; skipped: readonly SkippedFire[] }
  | { kind: 'skip'; firedUntil: number; skipped: readonly SkippedFire[] };

/** Returns the next fire of an enabled job, after a back-off; null if there is none. */
export function getNextFire({ enabled, schedule, firedUntil, backoffUntil = 0 }: Omit<Job, 'jobId'>): number | null {
  return enabled ? findNextFire(schedule, Math.max(firedUntil, backoffUntil - 1)) : null;
}

/** Decides about the fires of a job that are due. `openRuns` is the number of its runs that have not ended. */
export function decideFire(job: Job, now: number, openRuns: () => Promise<number>): FireDecision | Promise<FireDecision> {
  const { schedule, firedUntil, backoffUntil = 0, consecutiveErrors } = job;
  const first = job.enabled ? findNextFire(schedule, firedUntil) : null;
  if (first === null) return { kind: 'wait', until: null };
  if (first < backoffUntil) {
    if (now < first) return { kind: 'wait', until: first };
    const reason = `${describeErrors(consecutiveErrors)}; the next fire is not before ${formatInstant(backoffUntil)}`;
    return { kind: 'skip', firedUntil: backoffUntil - 1, skipped: [{ firedAt: first, reason }] };
  }
  const dueAt = first + getJitter(job, first);
  if (now < dueAt) return { kind: 'wait', until: dueAt };
  const firedAt = findLastDueFire(job, first, now);
  const skipped = firedAt === first ? [] : [{ firedAt: first, reason: describeMissedFires(schedule, first, firedAt) }];
  const missed = getMissedReason(job, now - firedAt - getJitter(job, firedAt));
  if (missed !== undefined) return { kind: 'skip', firedUntil: firedAt, skipped: [...skipped, { firedAt, reason: missed }] };
  const window = findExclusion(job, firedAt);
  if (window !== undefined)
    return { kind: 'skip', firedUntil: firedAt, skipped: [...skipped, { firedAt, reason: describeExclusion(window) }] };
  if (job.overlap === 'allow' || job.overlap === 'cancel') return { kind: 'fire', firedAt, skipped };
  return decideOverlap(job, { firedAt, skipped, openRuns });
}

async function decideOverlap(
  { overlap }: Job,
  { firedAt, skipped, openRuns }: { firedAt: number; skipped: SkippedFire[]; openRuns: () => Promise<number> },
): Promise<FireDecision> {
  const open = await openRuns();
  if (open === 0 || (overlap === 'queue' && open < MAX_QUEUED_RUNS)) return { kind: 'fire', firedAt, skipped };
  const reason =
    overlap === 'queue'
      ? `${open} runs of this job are waiting, the limit of overlap queue`
      : 'an earlier run of this job has not ended, and its overlap is skip';
  return { kind: 'skip', firedUntil: firedAt, skipped: [...skipped, { firedAt, reason }] };
}

/** Returns the last fire whose delay is over. A delay is shorter than the period, so only one fire can be in its delay. */
function findLastDueFire(job: Job, first: number, now: number): number {
  const last = findLastFire(job.schedule, now) ?? first;
  if (last <= first) return first;
  return last + getJitter(job, last) <= now ? last : Math.max(findLastFire(job.schedule, last - 1) ?? first, first);
}

/** Returns the delay of a fire. It depends on the job and the instant only, so that all replicas agree. */
function getJitter({ jobId, schedule, jitterMs }: Job, firedAt: number): number {
  if (jitterMs === 0) return 0;
  const next = findNextFire(schedule, firedAt);
  const limit = next === null ? jitterMs : Math.min(jitterMs, next - firedAt - 1);
  const digest = createHash('sha256').update(`${jobId}@${firedAt}`).digest();
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * (limit + 1));
}

function getMissedReason({ missedRuns = DEFAULT_MISSED_RUNS }: Job, lateMs: number): string | undefined {
  if (lateMs <= MISSED_AFTER_MS) return undefined;
  const late = `missed by ${Math.round(lateMs / 1_000)} s`;
  if (missedRuns.policy === 'skip') return `${late}, and missedRuns.policy is skip`;
  return lateMs > missedRuns.withinMs ? `${late}, more than missedRuns.withinMs (${missedRuns.withinMs} ms)` : undefined;
}

function describeMissedFires(schedule: Schedule, first: number, firedAt: number): string {
  const next = findNextFire(schedule, first);
  const range = next === firedAt || next === null ? 'this fire was' : 'this and later fires were';
  return `${range} missed; the fire of ${formatInstant(firedAt)} stands for all of them`;
}

function describeErrors(consecutiveErrors: number): string {
  return consecutiveErrors === 1 ? 'backing off after an error' : `backing off after ${consecutiveErrors} errors in a row`;
}

function formatInstant(ms: number): string {
  return new Date(ms).toISOString();
}
