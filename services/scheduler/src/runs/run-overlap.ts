import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError } from '@switchyard/contracts';
import { toPrincipal } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import type { RunEnd } from './run-end.ts';

const OPEN_STATES = ['queued', 'running', 'parked'] as const;

export interface OverlapDeps {
  runs: Collection<RunDocument>;
  bus: Bus;
}

interface AddRunDeps {
  runs: Collection<RunDocument>;
  runWork: Pick<Work<RunDocument>, 'add' | 'wake'>;
}

/**
 * Adds a run as work. With the overlap `cancel`, the earlier runs of the job are woken and cancel their turns, because the new run may wait
 * for a slot that one of them holds.
 */
export async function addRun(
  { runs, runWork }: AddRunDeps,
  tenant: string,
  { job, run }: { job: Pick<JobDocument, 'overlap'>; run: RunDocument },
): Promise<void> {
  await runWork.add({ tenant }, run);
  if (job.overlap !== 'cancel') return;
  // After a failure the earlier runs cancel their turns when they ask for the end of them.
  await wakeEarlierRuns({ runs, runWork }, tenant, run).catch(() => undefined);
}

async function wakeEarlierRuns({ runs, runWork }: AddRunDeps, tenant: string, run: RunDocument): Promise<void> {
  const { items } = await runs.for({ tenant }).find({ ...getEarlierRuns(run), turnPending: true }, { limit: MAX.few });
  await Promise.all(items.map(({ runId }) => runWork.wake(tenant, runId)));
}

/** Whether a run has to wait because of the overlap policy of its job. With `cancel` the turns of earlier runs are cancelled. */
export async function waitsForEarlierRun(
  deps: OverlapDeps,
  tenant: string,
  { job: { overlap }, run }: { job: JobDocument; run: RunDocument },
): Promise<boolean> {
  if (overlap !== 'queue' && overlap !== 'cancel') return false;
  const earlier = getEarlierRuns(run);
  if (overlap === 'queue') return (await deps.runs.for({ tenant }).count(earlier)) > 0;
  const { items } = await deps.runs.for({ tenant }).find(earlier, { limit: MAX.few });
  for (const one of items) await cancelTurn(deps, tenant, one);
  return items.length > 0;
}

/**
 * Cancels the turn of a run, if it has one. The key of the order finds a turn whose id was not stored, because the replica died between the
 * order and the write. A turn that no longer exists needs no cancellation; its run notices that itself.
 */
export async function cancelTurn({ bus }: Pick<OverlapDeps, 'bus'>, tenant: string, run: RunDocument): Promise<void> {
  const { turnId, runId, principal, fence } = run;
  // A run that no replica has claimed was not ordered.
  if (turnId === undefined && fence === 0) return;
  try {
    await bus.as(toPrincipal(tenant, principal)).call('turns.cancel', turnId === undefined ? { idempotencyKey: runId } : { turnId });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
  }
}

export async function hasLaterRun(
  { runs }: Pick<OverlapDeps, 'runs'>,
  tenant: string,
  { jobId, runAt }: Pick<RunDocument, 'jobId' | 'runAt'>,
): Promise<boolean> {
  return (await runs.for({ tenant }).count({ jobId, state: { in: OPEN_STATES }, runAt: { gt: runAt } })) > 0;
}

export function replacedRun(): RunEnd {
  return { status: 'skipped', error: 'a later fire of this job cancelled this run, and its overlap is cancel' };
}

function getEarlierRuns({ jobId, runId, runAt }: RunDocument) {
  return { jobId, state: { in: OPEN_STATES }, runAt: { lt: runAt }, runId: { ne: runId } };
}
