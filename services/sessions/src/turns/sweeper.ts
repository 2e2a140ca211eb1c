import type { Bus } from '@switchyard/bus';
import type { Leases } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { freeLane } from '../sessions/lane.ts';
import { settle, type Ledger } from './commit.ts';
import { endWithout } from './end-without.ts';
import { interrupted } from './endings.ts';
import type { Runner } from './runner.ts';

const BATCH = 100;
/** As long may whoever ended a turn take to settle it. */
const UNSETTLED_MS = 3_000;

export interface SweeperDeps extends Ledger {
  bus: Bus;
  turns: Collection<TurnDocument>;
  leases: Leases<TurnDocument>;
  runner: Runner;
  log: Logger;
  everyMs: number;
  /** A lane whose turn does not exist was left by a process that died between two writes; a live one needs milliseconds. */
  orphanMs: number;
}

/** Finds what nobody heard: turns whose runner died, lanes nobody holds, turns that wait. Every replica may sweep at once. */
export function startSweeper(deps: SweeperDeps): AsyncDisposable {
  let stopped = false;
  let sweeping: Promise<void> | undefined;

  /** What fails holds up neither the rest of its kind nor the other kinds. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    if (stopped) return;
    await work().catch((err: unknown) => {
      deps.log.warn({ err, errorKind: 'dependency', hint: 'it is tried again at the next sweep' }, 'sweep failed');
    });
  }

  async function sweep(): Promise<void> {
    await attempt(() => endInterrupted(deps, attempt));
    await attempt(() => freeLanes(deps, attempt));
    await attempt(() => deps.runner.pump());
  }

  function begin(): void {
    sweeping ??= sweep().finally(() => (sweeping = undefined));
  }
  const timer = setInterval(begin, deps.everyMs);
  timer.unref();
  begin();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      clearInterval(timer);
      await sweeping;
    },
  };
}

type Attempt = (work: () => Promise<void>) => Promise<void>;

/** A running turn whose lease ran out ends as interrupted: its tools may have acted, so it is not begun again. */
async function endInterrupted(deps: SweeperDeps, attempt: Attempt): Promise<void> {
  const dead = await deps.turns.system().find({ state: 'running', leaseUntil: { lt: deps.store.now() } }, { limit: BATCH });
  for (const { tenant, turnId } of dead.items) {
    await attempt(async () => {
      const lease = await deps.leases.claim(tenant, { turnId, state: 'running' });
      if (lease) await endWithout(deps, lease, interrupted());
    });
  }
}

async function freeLanes(deps: SweeperDeps, attempt: Attempt): Promise<void> {
  let cursor: string | undefined;
  do {
    // Not `ne: null`, which reads every session there is.
    const page = await deps.sessions
      .system()
      .find({ activeTurn: { gt: '' } }, { sort: [['activeTurn', 'asc']], limit: BATCH, ...(cursor === undefined ? {} : { cursor }) });
    for (const session of page.items) await attempt(() => freeLaneOf(deps, session));
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function freeLaneOf(
  deps: SweeperDeps,
  { tenant, key, activeTurn, activeSince }: SessionDocument & { tenant: string },
): Promise<void> {
  if (activeTurn === null) return;
  const now = deps.store.now();
  const turn = await deps.turns.for({ tenant }).get(activeTurn);
  if (!turn) {
    if (activeSince < now - deps.orphanMs) await freeLane(deps.sessions.for({ tenant }), key, activeTurn);
    return;
  }
  if (turn.finishedAt !== undefined && turn.finishedAt < now - UNSETTLED_MS) await settle(deps, tenant, turn);
}
