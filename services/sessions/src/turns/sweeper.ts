import type { Bus } from '@switchyard/bus';
import type { Leases } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { MessageDocument, SessionDocument, TurnDocument } from '../data.ts';
import { endWithout, freeLane } from './commit.ts';
import { interrupted } from './endings.ts';
import type { Runner } from './runner.ts';

const SWEEP_MS = 5_000;
const BATCH = 100;
/** A lane whose turn does not exist was left by a process that died between two writes; a live one needs milliseconds. */
const ORPHAN_MS = 30_000;

export interface SweeperDeps {
  bus: Bus;
  store: Store;
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  messages: Collection<MessageDocument>;
  leases: Leases<TurnDocument>;
  runner: Runner;
  log: Logger;
}

/** Finds what nobody heard: turns that wait, turns whose runner died, lanes nobody holds. Every replica may sweep at once. */
export function startSweeper(deps: SweeperDeps): Disposable {
  let sweeping = false;
  const sweep = async (): Promise<void> => {
    if (sweeping) return;
    sweeping = true;
    try {
      await endInterrupted(deps);
      await freeOrphans(deps);
      await deps.runner.pump();
    } catch (error) {
      deps.log.warn({ err: error, errorKind: 'dependency', hint: 'it is tried again in five seconds' }, 'sweep failed');
    } finally {
      sweeping = false;
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_MS);
  timer.unref();
  void sweep();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** A running turn whose lease ran out ends as interrupted: its tools may have acted, so it is not begun again. */
async function endInterrupted(deps: SweeperDeps): Promise<void> {
  const dead = await deps.turns.system().find({ state: 'running', leaseUntil: { lt: deps.store.now() } }, { limit: BATCH });
  for (const { tenant, turnId } of dead.items) {
    const lease = await deps.leases.claim(tenant, { turnId, state: 'running' });
    if (lease) await endWithout(deps, lease, interrupted());
  }
}

async function freeOrphans(deps: SweeperDeps): Promise<void> {
  const now = deps.store.now();
  const held = await deps.sessions
    .system()
    .find({ activeTurn: { exists: true, ne: null }, updatedAt: { lt: now - ORPHAN_MS } }, { limit: BATCH });
  for (const { tenant, key, activeTurn } of held.items) {
    if (activeTurn === null) continue;
    const turn = await deps.turns.for({ tenant }).get(activeTurn);
    if (turn && (turn.state === 'queued' || turn.state === 'running')) continue;
    await freeLane(deps.sessions.for({ tenant }), key, activeTurn, now);
  }
}
