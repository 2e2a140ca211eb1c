import { MAX, ServiceError, type TurnContext } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import { toPrincipal } from '@switchyard/service-kit';
import type { Lease, Outcome } from '@switchyard/work';
import { loadTurnEnd } from '../turns/ending/turn-waiters.ts';
import { isTaintedTurn } from '../screening/turn-taint.ts';
import { condense } from './result-condensing.ts';
import { hasRunEnded, type RunDocument } from './run-document.ts';
import { archivedEvent } from './run-events.ts';
import type { RunWorkDeps } from './run-deps.ts';
import { cancelTurns, endChildren, endOfChildren, wakeRelatives } from './run-end.ts';
import { isTransient } from './transient.ts';

/** Time limit of a turn that announces results. */
const ANNOUNCE_TIMEOUT_MS = 300_000;
const MAX_ANNOUNCE_ATTEMPTS = 5;
const ANNOUNCE_RETRY_MS = 60_000;
/** Runs that one turn announces. */
const MAX_BATCH = 20;
/** Characters of all results of one turn. */
const MAX_CONTEXT_CHARS = 400_000;
const MESSAGE =
  'Sub-agents that this session started have ended. Their results are in the material above. Continue the task with them. If nothing has to be said, answer with NO_REPLY only.';

type RunOutcome = Outcome<RunDocument>;

/** Cleans up after an ended run: its turns, its children, the announcement of its result, and the archive. */
export async function settleRun(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<RunOutcome> {
  const { tenant, document: run } = lease;
  const { finishedAt = deps.now() } = run;
  if (run.turnId !== undefined && run.endReason !== 'completed') await cancelTurns(deps, tenant, run);
  await endChildren(deps, tenant, run.sessionKey, endOfChildren(run));
  if (run.childOf !== undefined) {
    const waitUntil = await announce(deps, lease, run);
    if (waitUntil !== undefined) return { parkUntil: waitUntil };
  }
  const archiveAt = finishedAt + deps.settings().subAgentRetentionMs;
  if (deps.now() < archiveAt) return { parkUntil: archiveAt };
  if (!deps.settings().subAgentSessionPersistence) await removeSession(deps, tenant, run);
  const archivedAt = deps.now();
  const end = run.endReason === 'completed' ? 'done' : run.endReason === 'killed' ? 'cancelled' : 'failed';
  return { end, set: { archivedAt }, emit: [archivedEvent(run, archivedAt)] };
}

/** Tells the parent. Returns the time of the next attempt, or undefined when there is nothing left to announce. */
async function announce(deps: RunWorkDeps, lease: Lease<RunDocument>, run: RunDocument): Promise<number | undefined> {
  const { tenant } = lease;
  const { now, timing, runs, sessions } = deps;
  const session = await sessions.for({ tenant }).get(run.parentKey);
  const parent = run.parentRunId === undefined ? undefined : await runs.for({ tenant }).get(run.parentRunId);
  const isGone = session?.epoch !== run.parentEpoch || parent === null || (parent !== undefined && hasRunEnded(parent));
  if (isGone) return finish(deps, lease, [run]);
  const { items } = await runs.for({ tenant }).find({ childOf: run.parentKey }, { sort: [['createdAt', 'asc']], limit: MAX.few });
  const ended = items.filter(hasRunEnded).toSorted(byEnd);
  const [leader] = ended;
  if (leader === undefined) return undefined;
  // The run that ended first announces the others with itself. It does not wait any longer once all have ended.
  if (leader.runId !== run.runId) {
    const isLast = ended.length === items.length && leader.announceAttempts === undefined;
    if (isLast && (await deps.work().wake(tenant, leader.runId))) deps.work().startDue();
    return now() + timing.batchMs;
  }
  const batchAt = (run.finishedAt ?? 0) + timing.batchMs;
  if (run.batch === undefined && ended.length < items.length && now() < batchAt) return batchAt;
  const batch = run.batch ?? ended.slice(0, MAX_BATCH).map(({ runId }) => runId);
  if (run.batch === undefined) await lease.write({ set: { batch } });
  const members = ended.filter(({ runId }) => batch.includes(runId));
  try {
    await startAnnouncement(deps, tenant, { leader: run, members, parent });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const attempts = (run.announceAttempts ?? 0) + 1;
    if (isTransient(error) || attempts < MAX_ANNOUNCE_ATTEMPTS) {
      await lease.write({ set: { announceAttempts: attempts } });
      return now() + Math.max(error.details.retryAfterMs ?? 0, Math.min(attempts * 1_000, ANNOUNCE_RETRY_MS));
    }
    const hint = 'session.run_status returns the result';
    deps.log.warn({ err: error, errorKind: 'internal', hint, runId: run.runId }, 'failed to announce the result of a sub-agent');
  }
  return finish(deps, lease, members);
}

function byEnd(one: RunDocument, other: RunDocument): number {
  return (one.finishedAt ?? 0) - (other.finishedAt ?? 0) || (one.runId < other.runId ? -1 : 1);
}

interface Announcement {
  leader: RunDocument;
  members: readonly RunDocument[];
  parent: RunDocument | undefined;
}

/** Starts one turn in the parent's session. Its id is derived from the run, so that a repeated start finds it. */
async function startAnnouncement(deps: RunWorkDeps, tenant: string, { leader, members, parent }: Announcement): Promise<void> {
  const turnId = deriveId('turn', tenant, leader.runId, 'announce');
  const existing = await deps.turns.for({ tenant }).get(turnId);
  if (!existing) {
    await deps.runner().start(
      {
        method: 'turns.order',
        turnId,
        message: MESSAGE,
        session: leader.parentKey,
        context: await describeResults(deps, tenant, members),
        timeoutMs: ANNOUNCE_TIMEOUT_MS,
        order: { kind: 'subagent', origin: { service: 'sessions', ref: leader.runId } },
        ...(parent && { agentId: parent.agentId, tools: parent.tools }),
      },
      toPrincipal(tenant, leader.principal),
    );
  }
  // The parent run ends with this turn. Its own message is not started again, because the turn exists.
  if (parent)
    await deps
      .work()
      .wake(tenant, parent.runId, { set: { turnId }, push: { turnIds: turnId } }, { endReason: null, turnIds: { lacks: turnId } });
}

/** Returns the results as material within the room of one turn. The result of a run that has read text from outside is untrusted. */
async function describeResults(deps: RunWorkDeps, tenant: string, members: readonly RunDocument[]): Promise<TurnContext[]> {
  const { subagentContext } = deps.settings();
  const room = Math.floor(MAX_CONTEXT_CHARS / Math.max(1, members.length));
  return Promise.all(
    members.map(async (run) => {
      const title = `${subagentContext.resultTagPrefix}: run ${run.runId} of agent ${run.agentId}, ${run.endReason}`;
      const { text } = condense(await loadResponse(deps, tenant, run), subagentContext, run.condensed);
      const task = `Task: ${run.task.slice(0, 1_000)}`;
      const untrusted = await isTaintedRun(deps, tenant, run);
      const error = run.error !== undefined && subagentContext.errorPreservation ? `Error: ${run.error}` : undefined;
      const described = [task, error, text].filter(Boolean).join('\n\n').slice(0, room).toWellFormed();
      return { title: title.slice(0, MAX.name), text: described, untrusted };
    }),
  );
}

/** Returns whether one of the turns of a run had text from outside in its prompt. */
export async function isTaintedRun({ turns, bodies }: RunWorkDeps, tenant: string, { turnIds }: RunDocument): Promise<boolean> {
  if (turnIds.length === 0) return false;
  const { items } = await turns.for({ tenant }).find({ turnId: { in: turnIds } }, { limit: turnIds.length });
  for (const turn of items) if (await isTaintedTurn(bodies.for({ tenant }), turn)) return true;
  return false;
}

/** Returns the whole answer of a run; empty if it has none. */
export async function loadResponse(
  { turns, bodies }: Pick<RunWorkDeps, 'turns' | 'bodies'>,
  tenant: string,
  { turnId }: RunDocument,
): Promise<string> {
  const turn = turnId === undefined ? null : await turns.for({ tenant }).get(turnId);
  const end = turn && (await loadTurnEnd(bodies.for({ tenant }), turn));
  return end?.result?.response ?? '';
}

/** Marks the results as announced. The leader is last, so that a crash leaves a leader that repeats it. */
async function finish(deps: RunWorkDeps, lease: Lease<RunDocument>, members: readonly RunDocument[]): Promise<undefined> {
  const { tenant, document: leader } = lease;
  for (const { runId } of members) if (runId !== leader.runId) await deps.work().wake(tenant, runId, { unset: ['childOf'] });
  await lease.write({ unset: ['childOf'] });
  await wakeRelatives(deps, tenant, leader);
}

async function removeSession({ emptying, sessions }: RunWorkDeps, tenant: string, { principal, sessionKey }: RunDocument): Promise<void> {
  try {
    await emptying(toPrincipal(tenant, principal), sessionKey, async (_session, idle) => ({
      done: (await sessions.for({ tenant }).remove(idle)) > 0,
      result: undefined,
    }));
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) throw error;
  }
}
