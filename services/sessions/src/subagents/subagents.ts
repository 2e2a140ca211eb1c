import { canUseAgent, MAX, ServiceError, type Principal, type Result } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { deriveId } from '@switchyard/security';
import { isTaintedRun, loadResponse } from './announcement.ts';
import { hasRunEnded, isRunQueued, type RunDocument } from './run-document.ts';
import type { RunDeps, RunWorkDeps } from './run-deps.ts';
import { endTree, KILLED, wakeChildren } from './run-end.ts';
import { toRow, toRunStatus } from './run-views.ts';
import { recordRejection } from './run-metrics.ts';
import { notifyRunEnd } from './run-notification.ts';
import { createRunWork, startRunTurn } from './run-work.ts';
import { runHasEnded, spawnRun, type SpawnRequest } from './spawn.ts';

/** A run is steered at most once in this time. */
const STEER_INTERVAL_MS = 2_000;
const MINUTE_MS = 60_000;

/** Runs of sub-agents (docs/decisions/0037). */
export interface SubAgents extends AsyncDisposable {
  spawn(principal: Principal, request: SpawnRequest): Promise<Result<'session.spawn'>>;
  list(principal: Principal, recentMinutes: number): Promise<Result<'subagent.list'>>;
  /** Undefined if there is no such run, or the principal may not see it. */
  status(principal: Principal, runId: string): Promise<Result<'session.run_status'> | undefined>;
  kill(principal: Principal, runId: string): Promise<void>;
  steer(principal: Principal, runId: string, message: string): Promise<void>;
  /** Makes the runs of a session that was reset or deleted end. */
  sweep(tenant: string, sessionKey: string): Promise<void>;
  /** Wakes the runs whose turns have ended. A lost wake-up only delays them. */
  poll(): Promise<void>;
}

export function createSubAgents(options: RunDeps & { bus: Bus }): SubAgents {
  const { runs, now, bus } = options;
  const deps: RunWorkDeps & { emitRejection: Parameters<typeof createRunWork>[0]['emitRejection'] } = {
    ...options,
    work: () => work,
    notifyEnd: (tenant, run, result) => notifyRunEnd(bus, tenant, run, result),
    emitRejection: (tenant) => (payload) => {
      recordRejection(payload);
      bus.as({ tenant, client: 'service:sessions', scopes: ['*'] }).emit('session:sub_agent_spawn_rejected', payload);
    },
  };
  const work = createRunWork(deps);

  async function find(principal: Principal, runId: string): Promise<RunDocument | undefined> {
    const run = await runs.for(principal).get(runId);
    return run && mayFollow(principal, run) ? run : undefined;
  }

  async function require(principal: Principal, runId: string): Promise<RunDocument> {
    const run = await find(principal, runId);
    if (!run) throw new ServiceError('NOT_FOUND', 'Run not found.');
    if (hasRunEnded(run)) throw runHasEnded(run);
    return run;
  }

  return {
    spawn: (principal, request) => spawnRun(deps, principal, request, deps.emitRejection(principal.tenant)),

    async list(principal, recentMinutes) {
      const found: RunDocument[] = [];
      const since = Math.max(0, Math.floor(now() - recentMinutes * MINUTE_MS));
      for (let cursor: string | undefined; ;) {
        const options = { sort: [['createdAt', 'desc']] as const, limit: MAX.many, ...(cursor === undefined ? {} : { cursor }) };
        const page = await runs.for(principal).find({ createdAt: { gte: since } }, options);
        found.push(...page.items.filter((run) => mayFollow(principal, run)));
        cursor = page.cursor;
        if (cursor === undefined || found.length >= MAX.many) break;
      }
      const at = now();
      return { runs: found.map((run) => toRow(run, at)), total: found.length };
    },

    async status(principal, runId) {
      const run = await find(principal, runId);
      if (!run) return undefined;
      const status = toRunStatus(run, { now: now(), response: hasRunEnded(run) ? await loadResponse(deps, principal.tenant, run) : '' });
      // Only agents get the mark, because it concerns the turn that reads the response.
      const isMarked =
        principal.session !== undefined && status.response !== undefined && (await isTaintedRun(deps, principal.tenant, run));
      return isMarked ? { ...status, outside: true } : status;
    },

    async kill(principal, runId) {
      const run = await require(principal, runId);
      const ended = await endTree(deps, principal.tenant, run, { endReason: 'killed', error: KILLED });
      if (!ended) throw runHasEnded((await find(principal, runId)) ?? run);
    },

    async steer(principal, runId, message) {
      const run = await require(principal, runId);
      const { tenant } = principal;
      if (isRunQueued(run)) throw new ServiceError('FAILED_PRECONDITION', `Run ${runId} waits in a queue. Steer it when it runs.`);
      const steeredAt = now();
      const turnId = deriveId('turn', tenant, runId, 'steer', String(steeredAt));
      const change = { set: { steeredAt, turnId, message }, push: { turnIds: turnId } };
      const guard = { endReason: null, steeredAt: { lte: Math.max(0, steeredAt - STEER_INTERVAL_MS) } };
      const steered = await work.wake(tenant, runId, change, guard);
      if (!steered) {
        const current = await require(principal, runId);
        const retryAfterMs = Math.max(1, current.steeredAt + STEER_INTERVAL_MS - now());
        throw new ServiceError('RESOURCE_EXHAUSTED', `Run ${runId} was steered less than 2 s ago. Retry in ${retryAfterMs} ms.`, {
          details: { retryAfterMs },
        });
      }
      // If this process dies here, the work of the run starts the turn.
      await startRunTurn(deps, tenant, { ...steered, turnId });
    },

    async sweep(tenant, sessionKey) {
      await wakeChildren(deps, tenant, sessionKey);
      work.startDue();
    },

    async poll() {
      try {
        await wakeEnded(deps);
      } finally {
        // The first poll starts the timer that repeats it.
        work.startDue();
      }
    },

    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  };
}

/** Returns whether the principal may see a run. */
function mayFollow(viewer: Principal, { principal, agentId }: RunDocument): boolean {
  return (viewer.sessions !== 'own' || principal.client === viewer.client) && canUseAgent(viewer, agentId);
}

/** Wakes the parked runs whose turns have ended. */
async function wakeEnded({ runs, turns, work }: RunWorkDeps): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await runs.system().find({ openSince: { gt: 0 } }, { limit: MAX.few, ...(cursor === undefined ? {} : { cursor }) });
    for (const [tenant, open] of Map.groupBy(page.items, (run) => run.tenant)) {
      const turnIds = open.flatMap(({ turnId }) => turnId ?? []);
      if (turnIds.length === 0) continue; // the process died before it started a turn
      const { items } = await turns.for({ tenant }).find({ turnId: { in: turnIds }, finishedAt: { gt: 0 } }, { limit: turnIds.length });
      const ended = new Set(items.map(({ turnId }) => turnId));
      for (const { runId, turnId } of open)
        if (turnId !== undefined && ended.has(turnId)) await work().wake(tenant, runId, {}, { endReason: null });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}
