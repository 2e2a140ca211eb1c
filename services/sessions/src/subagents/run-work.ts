import { ServiceError } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import { toPrincipal } from '@switchyard/service-kit';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import { hasEnded, type TurnDocument } from '../model/turn-document.ts';
import { loadTurnEnd } from '../turns/ending/turn-waiters.ts';
import { settleRun } from './announcement.ts';
import { condense, needsSummary } from './result-condensing.ts';
import { ACTIVE, hasRunEnded, isRunQueued, listFreePlaces, type RunDocument } from './run-document.ts';
import { rejection, startedEvent } from './run-events.ts';
import type { RunWorkDeps } from './run-deps.ts';
import { cancelTurns, endOfChildren, endRun, endTree, type RunEnd } from './run-end.ts';
import { listOpenChildren, type EmitRejection } from './spawn.ts';
import { isTransient } from './transient.ts';

const MAX_CONCURRENT_RUNS = 64;
const MAX_ATTEMPTS = 20;
/** A run whose turn does not end this long after its time limit is ended. */
const GHOST_MS = 120_000;
const ORDER_RETRY_MS = 1_000;

type RunOutcome = Outcome<RunDocument>;

/** Starts the turn of each run and records how it ended. While the turn runs, the run is parked and no process holds it. */
export function createRunWork(deps: RunWorkDeps & { emitRejection: (tenant: string) => EmitRejection }): Work<RunDocument> {
  const { runs, owner, now, log, clock } = deps;
  return createWork<RunDocument>({
    documents: runs,
    owner,
    now,
    log,
    ...(clock && { clock }),
    capacity: () => MAX_CONCURRENT_RUNS,
    run: (lease) => (hasRunEnded(lease.document) ? settleRun(deps, lease) : driveRun(deps, lease)),
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: () => ({ parkUntil: now() + deps.timing.turnPollMs }) },
  });
}

type DriveDeps = Parameters<typeof createRunWork>[0];

async function driveRun(deps: DriveDeps, lease: Lease<RunDocument>): Promise<RunOutcome> {
  const { tenant, document: run } = lease;
  const orphaned = await findOrphanEnd(deps, tenant, run);
  if (orphaned) {
    await endTree(deps, tenant, run, orphaned);
    return runAgain(deps);
  }
  if (isRunQueued(run)) return waitForPlace(deps, lease);
  const turn = run.turnId === undefined ? null : await deps.turns.for({ tenant }).get(run.turnId);
  if (!turn) return startTurn(deps, lease);
  if (!hasEnded(turn)) return followTurn(deps, lease);
  // The result of a child reaches this run in a further turn.
  const children = await deps.runs.for({ tenant }).count({ childOf: run.sessionKey });
  if (children > 0) return { parkUntil: deps.now() + deps.timing.turnPollMs };
  const end = await describeEnd(deps, lease, turn);
  // A message of `subagent.steer` may have arrived since the turn was read.
  const current = await deps.runs.for({ tenant }).get(run.runId);
  if (current && current.turnId === run.turnId) await endRun(deps, tenant, current, end);
  return runAgain(deps);
}

/** Makes the document due at once. What it needs next depends on what was written meanwhile. */
function runAgain({ now }: DriveDeps): RunOutcome {
  return { parkUntil: now() };
}

/** Returns how a run ends whose parent session was reset or deleted, or whose parent run has ended. */
async function findOrphanEnd({ runs, sessions }: DriveDeps, tenant: string, run: RunDocument): Promise<RunEnd | undefined> {
  const session = await sessions.for({ tenant }).get(run.parentKey);
  const parent = run.parentRunId === undefined ? undefined : await runs.for({ tenant }).get(run.parentRunId);
  if (parent && hasRunEnded(parent)) return endOfChildren(parent);
  if (session?.epoch === run.parentEpoch && parent !== null) return undefined;
  return { endReason: 'killed', error: 'The session that requested this run was reset or deleted.' };
}

/** The run that waits longest takes the next free place. */
async function waitForPlace(deps: DriveDeps, lease: Lease<RunDocument>): Promise<RunOutcome> {
  const { tenant, document: run } = lease;
  const { queueTimeoutMs, maxChildrenPerAgent, maxSpawnDepth } = deps.settings().subagentContext;
  const until = run.createdAt + queueTimeoutMs;
  const siblings = await listOpenChildren(deps, tenant, run.parentKey);
  if (deps.now() >= until) {
    const currentChildren = siblings.filter((one) => !isRunQueued(one)).length;
    const limits = { currentDepth: run.depth - 1, maxDepth: maxSpawnDepth, currentChildren, maxChildren: maxChildrenPerAgent };
    const error = `queue_timeout: the run waited ${queueTimeoutMs} ms for another run of its session.`;
    if (await endRun(deps, tenant, run, { endReason: 'failed', error }))
      deps.emitRejection(tenant)(rejection(run, 'queue_timeout', limits, deps.now()));
    return runAgain(deps);
  }
  const isNext = siblings.find(isRunQueued)?.runId === run.runId;
  const [place] = isNext ? listFreePlaces(ACTIVE, maxChildrenPerAgent, siblings) : [];
  if (place === undefined) return { parkUntil: Math.min(until, deps.now() + deps.timing.queuePollMs) };
  const startedAt = deps.now();
  try {
    await updateOpen(deps, lease, { set: { place, startedAt }, emit: [startedEvent(run, startedAt)] });
  } catch (error) {
    // A new run took the place.
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
  return runAgain(deps);
}

/** Writes under the lease, unless the run has ended. Returns null if it has, or if the lease was lost. */
function updateOpen(
  { runs }: DriveDeps,
  { tenant, document: { runId }, fence }: Lease<RunDocument>,
  change: Parameters<ReturnType<typeof runs.for>['update']>[1],
): Promise<RunDocument | null> {
  return runs.for({ tenant }).update({ runId, fence, state: 'running', endReason: null }, change);
}

/** Starts the current turn. Its id is stored first, so that a repeated start finds the turn. */
async function startTurn(deps: DriveDeps, lease: Lease<RunDocument>): Promise<RunOutcome> {
  const { tenant, document } = lease;
  let run: RunDocument | null = document;
  if (document.turnId === undefined) {
    const turnId = deriveId('turn', tenant, document.runId, 'task');
    run = await updateOpen(deps, lease, { set: { turnId }, push: { turnIds: turnId } });
  }
  if (run?.turnId === undefined || !lease.isHeld()) return runAgain(deps);
  try {
    await startRunTurn(deps, tenant, { ...run, turnId: run.turnId });
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() > (run.startedAt ?? run.createdAt) + deps.settings().subagentContext.maxRunTimeoutMs;
    if (isTransient(error) && !late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS) };
    await endTree(deps, tenant, run, { endReason: 'failed', error: error.message });
    return runAgain(deps);
  }
  // A run that ended while its turn was stored leaves no turn behind.
  const current = await deps.runs.for({ tenant }).get(run.runId);
  if (!current || hasRunEnded(current)) await cancelTurns(deps, tenant, run);
  return followTurn(deps, lease);
}

/** Starts the current turn of a run, or finds it. */
export async function startRunTurn(
  { runner, settings, agents }: DriveDeps | RunWorkDeps,
  tenant: string,
  run: RunDocument & { turnId: string },
): Promise<void> {
  const { runId, turnId, agentId, sessionKey, principal, tools, message } = run;
  const { subAgentMaxSteps } = settings();
  const operation = agents.find(tenant, agentId)?.config.operationModels.subagent;
  await runner().start(
    {
      method: 'turns.order',
      turnId,
      message,
      agentId,
      session: sessionKey,
      tools,
      timeoutMs: getRunTimeout({ settings }),
      order: { kind: 'subagent', origin: { service: 'sessions', ref: runId }, limits: { steps: subAgentMaxSteps } },
      ...(operation?.model === undefined ? {} : { model: operation.model }),
    },
    toPrincipal(tenant, principal),
  );
}

/** The watchdog: a time for each step, up to a limit. */
function getRunTimeout({ settings }: Pick<RunWorkDeps, 'settings'>): number {
  const { subAgentMaxSteps, subagentContext } = settings();
  return Math.min(subAgentMaxSteps * subagentContext.perStepTimeoutMs, subagentContext.maxRunTimeoutMs);
}

/** Parks the run while its turn runs. A turn that outlives its time limit by far is a ghost. The time for which it waited does not count. */
async function followTurn(deps: DriveDeps, { tenant, document: run }: Lease<RunDocument>): Promise<RunOutcome> {
  const turn = run.turnId === undefined ? null : await deps.turns.for({ tenant }).get(run.turnId);
  const ghostAt = (turn?.parked?.until ?? turn?.startedAt ?? turn?.createdAt ?? deps.now()) + getRunTimeout(deps) + GHOST_MS;
  if (deps.now() < ghostAt) return { parkUntil: Math.min(ghostAt, deps.now() + deps.timing.turnPollMs) };
  await endTree(deps, tenant, run, { endReason: 'ghost_sweep', error: 'The turn of this run did not end within its time limit.' });
  return runAgain(deps);
}

async function describeEnd(deps: DriveDeps, lease: Lease<RunDocument>, turn: TurnDocument): Promise<RunEnd> {
  const { tenant, document: run, signal } = lease;
  const { result, failure } = await loadTurnEnd(deps.bodies.for({ tenant }), turn);
  if (result) {
    const { subagentContext } = deps.settings();
    const condensed = needsSummary(result.response, subagentContext)
      ? await deps.summarizer?.summarize(tenant, run, result.response, signal)
      : undefined;
    const { level, text } = condense(result.response, subagentContext, condensed);
    return { endReason: 'completed', finishReason: result.finishReason, condensationLevel: level, text, ...(level === 2 && { condensed }) };
  }
  const error = `${failure.code}: ${failure.message}`;
  if (turn.state === 'cancelled') return { endReason: 'killed', error };
  return { endReason: failure.code === 'DEADLINE_EXCEEDED' ? 'watchdog_timeout' : 'failed', error };
}
