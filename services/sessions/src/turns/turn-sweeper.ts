import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Distilling } from '../context/compaction/summary-distillation.ts';
import type { EndedEpochDocument, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { clearEndedEpoch } from '../sessions/session-reset.ts';
import { expireLease } from '../queue/session-queue.ts';
import { toFailure } from './store/turn-failure.ts';
import type { SessionLeases } from '../queue/session-lease.ts';
import { releaseKey } from './store/idempotency-key.ts';
import type { MemoryCapture } from '../memory/memory-capture.ts';
import type { TurnRunner } from './turn-runner.ts';
import { commitFailure } from './store/turn-store.ts';

const BATCH = 100;
/** Interval at which all queued turns are scanned, and not only those that reached the minimum age since the last scan. */
const FULL_SCAN_INTERVAL_MS = 600_000;

export interface SweeperDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  gone: Collection<EndedEpochDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  holds: SessionLeases;
  runner: TurnRunner;
  memoryCapture?: MemoryCapture;
  distilling?: Distilling;
  log: Logger;
  /** Poll interval for expired leases and waiting turns. */
  pollMs: number;
  /** Interval of all other sweeps. */
  sweepMs: number;
  /** Age at which a queued turn in no queue is considered abandoned. A live process enqueues it within milliseconds. */
  orphanMs: number;
}

/** Recovers unfinished work (see "Crash recovery" in the README). All replicas may sweep at the same time. */
export function startSweeper(deps: SweeperDeps): AsyncDisposable {
  let stopped = false;
  const running = new Set<Promise<void>>();
  const orphans = createOrphans(deps);

  /** A failure affects neither the rest of the batch nor other sweeps. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    if (stopped) return;
    await work().catch((err: unknown) => {
      deps.log.warn({ err, errorKind: 'dependency', hint: 'retrying at the next sweep' }, 'sweep failed');
    });
  }

  function repeat(everyMs: number, works: readonly (() => Promise<void>)[]): () => void {
    let busy = false;
    const once = async (): Promise<void> => {
      if (busy || stopped) return;
      busy = true;
      for (const work of works) await attempt(work);
      busy = false;
    };
    const begin = (): void => {
      const done = once().finally(() => running.delete(done));
      running.add(done);
    };
    begin();
    return deps.clock.every(everyMs, begin);
  }

  const stops = [
    repeat(deps.pollMs, [() => releaseLapsed(deps, attempt), () => deps.runner.pollWaiting()]),
    repeat(deps.sweepMs, [
      () => orphans.enter(attempt),
      () => forgetKeys(deps),
      () => clearAll(deps, attempt),
      async () => deps.memoryCapture?.sweep(),
      async () => deps.distilling?.sweep(),
      () => deps.runner.sweepContinuations(),
    ]),
  ];
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      for (const stop of stops) stop();
      await Promise.all(running);
    },
  };
}

type Attempt = (work: () => Promise<void>) => Promise<void>;

/** Releases expired leases, except those that this process still works under: a machine that slept renews them. */
async function releaseLapsed(deps: SweeperDeps, attempt: Attempt): Promise<void> {
  const { sessions, store, holds } = deps;
  const lapsed = await sessions.system().find({ leaseUntil: { gt: 0, lte: store.now() } }, { sort: [['leaseUntil', 'asc']], limit: BATCH });
  for (const { tenant, ...session } of lapsed.items) {
    if (!holds.has(tenant, session.key)) await attempt(async () => void (await expireLease(sessions.for({ tenant }), { tenant, session })));
  }
}

/**
 * Enqueues turns that are in no queue. Each turn is checked once when it reaches the minimum age, because a queued turn stays in its queue
 * until it ends. A full scan follows now and then, for writes that became visible late or machines that slept.
 */
function createOrphans(deps: SweeperDeps) {
  const { turns, store, clock, orphanMs } = deps;
  let from = 0;
  let allAt = clock.now();
  return {
    async enter(attempt: Attempt): Promise<void> {
      if (clock.now() - allAt >= FULL_SCAN_INTERVAL_MS) [from, allAt] = [0, clock.now()];
      const before = store.now() - orphanMs;
      let cursor: string | undefined;
      let isComplete = true;
      do {
        const page = await turns
          .system()
          .find(
            { state: 'queued', createdAt: { gte: from, lt: before } },
            { sort: [['createdAt', 'asc']], limit: BATCH, ...(cursor === undefined ? {} : { cursor }) },
          );
        for (const { tenant, ...turn } of page.items) {
          let entered = false;
          await attempt(async () => {
            await enterOrEnd(deps, tenant, turn);
            entered = true;
          });
          isComplete &&= entered;
        }
        cursor = page.cursor;
      } while (cursor !== undefined);
      if (isComplete) from = before;
    },
  };
}

/** A turn that cannot be enqueued any more was never reported as accepted. */
async function enterOrEnd({ runner, turns, store }: SweeperDeps, tenant: string, turn: TurnDocument): Promise<void> {
  try {
    await runner.enqueue(tenant, turn);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'UNAVAILABLE') throw error;
    const ending = { turn, fence: 0, lastFrame: 1, now: store.now() };
    runner.notifyFailed(tenant, await commitFailure(turns.for({ tenant }), ending, toFailure(error, turn)));
  }
}

/** Releases expired idempotency keys. */
async function forgetKeys({ turns, store }: SweeperDeps): Promise<void> {
  const { items } = await turns.system().find({ keyUntil: { gt: 0, lte: store.now() } }, { sort: [['keyUntil', 'asc']], limit: BATCH });
  for (const { tenant, ...turn } of items) await releaseKey(turns.for({ tenant }), turn);
}

/** Clears turns of ended epochs. */
async function clearAll(deps: SweeperDeps, attempt: Attempt): Promise<void> {
  const { items } = await deps.gone
    .system()
    .find({ at: { lte: deps.store.now() - deps.orphanMs } }, { sort: [['at', 'asc']], limit: BATCH });
  for (const { tenant, ...gone } of items)
    await attempt(() => clearEndedEpoch({ ...deps, forgetAt: deps.store.now() + DAY_MS }, tenant, gone));
}
