import assert from 'node:assert/strict';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { findLastFire, findNextFire } from '../schedule/schedule.ts';

/** A turn of the simulated sessions service. */
export interface SimulatedTurn {
  key: string;
  endsAt: number;
  state: 'running' | 'done' | 'cancelled';
}

const MISSED = /the fire of (\S+) stands for all of them$/;

/** Checks that each instant of a schedule has exactly one run, or is covered by a run that says that it was missed. */
export function judgeJob(job: JobDocument, runs: readonly RunDocument[], completedEvents: number): { fires: number; skips: number } {
  const { jobId, schedule, createdAt } = job;
  const ordered = runs.toSorted((one, other) => one.runAt - other.runAt);
  let expected = findNextFire(schedule, createdAt);
  let coveredUntil = 0;
  for (const { runId, runAt, error = '' } of ordered) {
    assert.equal(runId, `${jobId}@${runAt}`);
    assert.equal(findLastFire(schedule, runAt), runAt, `${runId} is no instant of the schedule`);
    const isCovered = runAt === expected || runAt <= coveredUntil;
    assert.ok(isCovered, `a run of ${jobId} at ${runAt}, but its next fire is ${expected}:\n${describe(ordered)}`);
    const standing = MISSED.exec(error)?.[1];
    // Two replicas may decide about the same missed fires, so that a fire has a run although a later one stands for it.
    if (standing !== undefined) coveredUntil = Math.max(coveredUntil, Date.parse(standing));
    expected = findNextFire(schedule, runAt);
  }
  const started = runs.filter(({ turnId }) => turnId !== undefined);
  assert.ok(completedEvents >= started.length, `${jobId} has ${started.length} runs with a turn and ${completedEvents} completed events`);
  assert.ok(
    completedEvents <= runs.filter(({ finishedAt }) => finishedAt !== undefined).length,
    `${jobId} has ${completedEvents} completed events`,
  );
  const skips = runs.filter(({ status }) => status === 'skipped').length;
  return { fires: runs.length - skips, skips };
}

/** Checks that each run has at most one turn, and each turn one run. */
export function judgeTurns(runs: readonly RunDocument[], turns: ReadonlyMap<string, SimulatedTurn>): void {
  const byKey = new Map<string, string>();
  for (const [turnId, { key }] of turns) {
    assert.ok(!byKey.has(key), `the run ${key} has two turns`);
    byKey.set(key, turnId);
  }
  for (const { runId, turnId, status } of runs) {
    assert.notEqual(status, undefined, `${runId} has no status`);
    if (turnId !== undefined) assert.equal(turnId, byKey.get(runId));
    if (status === 'ok') assert.equal(turns.get(turnId ?? '')?.state, 'done');
    byKey.delete(runId);
  }
  assert.deepEqual([...byKey], [], 'turns without a run');
}

function describe(runs: readonly RunDocument[]): string {
  return runs.map(({ runAt, status, error }) => `${runAt} ${status} ${error ?? ''}`).join('\n');
}
