import { MAX, ServiceError } from '@switchyard/contracts';
import { toPrincipal } from '@switchyard/service-kit';
import { isTransient } from './transient.ts';
import { endedEvents } from './run-events.ts';
import { recordRunEnd } from './run-metrics.ts';
import { hasRunEnded, isRunQueued, type RunDocument, type RunEndReason } from './run-document.ts';
import type { RunDeps, RunWorkDeps } from './run-deps.ts';

export const KILLED = 'Killed by parent agent';

export interface RunEnd {
  endReason: RunEndReason;
  error?: string | undefined;
  finishReason?: string | undefined;
  condensationLevel?: number | undefined;
  condensed?: string | undefined;
  /** Text of the result for the parent. */
  text?: string | undefined;
}

/** Ends a run once. Returns null if it has ended already. Its place becomes free with the same write. */
export async function endRun(deps: RunWorkDeps, tenant: string, run: RunDocument, end: RunEnd): Promise<RunDocument | null> {
  const { error, endReason, finishReason, condensationLevel, condensed, text = error ?? '' } = end;
  const finishedAt = deps.now();
  const set = {
    endReason,
    finishedAt,
    ...(await sumUsage(deps, tenant, run)),
    ...(error === undefined ? {} : { error: error.slice(0, MAX.line).toWellFormed() }),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(condensed === undefined ? {} : { condensed }),
    forgetAt: finishedAt + Math.max(deps.settings().subagentContext.resultRetentionMs, 2 * deps.settings().subAgentRetentionMs),
  };
  const isAnnounced = endReason !== 'killed' && endReason !== 'swept';
  const ended = await deps.work().wake(
    tenant,
    run.runId,
    {
      set,
      unset: isAnnounced ? ['place', 'openSince'] : ['place', 'openSince', 'childOf'],
      emit: endedEvents({ ...run, ...set, endReason, finishedAt }, condensationLevel),
    },
    { endReason: null },
  );
  if (!ended) return null;
  recordRunEnd(ended);
  deps.notifyEnd(tenant, ended, text);
  await wakeRelatives(deps, tenant, ended);
  return ended;
}

/** Makes the parent and the next waiting run look again. A lost wake-up only delays them. */
export async function wakeRelatives({ runs, work }: RunWorkDeps, tenant: string, { parentRunId, parentKey }: RunDocument): Promise<void> {
  if (parentRunId !== undefined) await work().wake(tenant, parentRunId);
  const { items } = await runs
    .for({ tenant })
    .find({ childOf: parentKey, endReason: null }, { sort: [['createdAt', 'asc']], limit: MAX.few });
  const next = items.find(isRunQueued);
  if (next) await work().wake(tenant, next.runId);
  work().startDue();
}

/** Adds up the models' usage of all turns of a run. */
async function sumUsage(
  { turns }: RunDeps,
  tenant: string,
  { turnIds }: RunDocument,
): Promise<Pick<RunDocument, 'tokens' | 'costUsd' | 'stepsExecuted'>> {
  if (turnIds.length === 0) return {};
  const { items } = await turns.for({ tenant }).find({ turnId: { in: turnIds } }, { limit: turnIds.length });
  const sum = { tokens: { total: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0, stepsExecuted: 0 };
  for (const { usage, stepCount, steps } of items) {
    sum.stepsExecuted += stepCount ?? steps.length;
    if (!usage) continue;
    sum.tokens.total += usage.input + usage.output;
    sum.tokens.cacheRead += usage.cacheRead;
    sum.tokens.cacheWrite += usage.cacheWrite;
    sum.costUsd += usage.costUsd;
  }
  return sum;
}

/** Cancels the turns of a run that have not ended. A lost turn is in no queue of its session, so that the current turn is named too. */
export async function cancelTurns({ runner }: RunDeps, tenant: string, run: RunDocument): Promise<void> {
  const { sessionKey, agentId, turnId } = run;
  const principal = toPrincipal(tenant, run.principal);
  await runner().cancel({ sessionKey, agentId }, principal);
  if (turnId === undefined) return;
  await runner()
    .cancel({ turnId }, principal)
    .catch((error: unknown) => {
      // The id is stored before the turn.
      if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
    });
}

/**
 * Ends a run and all runs below it, from the top, so that none of them starts another one meanwhile. A run that is stored during the walk
 * finds its ended parent and ends itself.
 */
export async function endTree(deps: RunWorkDeps, tenant: string, run: RunDocument, end: RunEnd): Promise<RunDocument | null> {
  const ended = hasRunEnded(run) ? null : await endRun(deps, tenant, run, end);
  // The end stands. A cancellation that fails is repeated by the work of the ended run.
  await cancelTurns(deps, tenant, run).catch((error: unknown) => {
    if (!isTransient(error)) throw error;
  });
  await endChildren(deps, tenant, run.sessionKey, end);
  return ended;
}

/** Returns how the open children of an ended run end. */
export function endOfChildren({ endReason }: RunDocument): RunEnd {
  if (endReason === 'killed') return { endReason, error: KILLED };
  return { endReason: 'swept', error: 'The run that requested this one has ended.' };
}

/** Ends the open runs that a session requested. */
export async function endChildren(deps: RunWorkDeps, tenant: string, parentKey: string, end: RunEnd): Promise<void> {
  const { items } = await deps.runs.for({ tenant }).find({ childOf: parentKey, endReason: null }, { limit: MAX.few });
  await Promise.all(items.map((child) => endTree(deps, tenant, child, end)));
}

/** Makes the open runs of a session look for it. They end if it was reset or deleted. */
export async function wakeChildren({ runs, work }: RunWorkDeps, tenant: string, parentKey: string): Promise<void> {
  const { items } = await runs.for({ tenant }).find({ childOf: parentKey, endReason: null }, { limit: MAX.few });
  for (const { runId } of items) await work().wake(tenant, runId, {}, { endReason: null });
}
