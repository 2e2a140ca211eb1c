import { ServiceError } from '@switchyard/contracts';
import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SessionDocument } from '../model/session-document.ts';
import { renew, type Taker } from './session-queue.ts';

/** Lease TTL, renewal interval, and the time after which the holder gives up by its own monotonic clock. */
export interface LeaseTiming {
  leaseMs: number;
  renewMs: number;
  heldMs: number;
}

export const LEASE_TIMING: LeaseTiming = { leaseMs: 6_000, renewMs: 2_000, heldMs: 5_000 };

/** Lease on a session, as its holder sees it. */
export interface Hold {
  readonly tenant: string;
  readonly key: string;
  readonly fence: number;
  /** Session document as of the holder's last write. */
  session: SessionDocument;
  /** The previous lease expired without being released, so its holder may have started the queue head. */
  readonly lapsed: boolean;
  /** Returns whether this process still holds the lease by its own clock. Checked before anything is published or executed. */
  held(): boolean;
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal;
  /** Another replica has the lease. */
  lose(): void;
  /** Retries a write while the database is unavailable. The guard of the write decides whether it still applies. */
  persist<T>(write: () => Promise<T>, onTrouble?: () => void): Promise<T>;
  /** Stops renewing. */
  end(): void;
}

export interface Holds extends Disposable {
  /** Fields of a claim made now. */
  taker(): Taker;
  /** Registers a new lease. `since` is the clock time of the claim request. */
  add(claimed: { tenant: string; session: SessionDocument; lapsed: boolean }, since: number): Hold;
  /** Returns whether this process works on a session, whatever the database clock says. A machine that slept has not lost its leases. */
  has(tenant: string, key: string): boolean;
}

export interface HoldsDeps {
  sessions: Collection<SessionDocument>;
  owner: string;
  store: { now(): number };
  clock: Clock;
  timing: LeaseTiming;
  log: Logger;
}

interface State extends Hold {
  renewedAt: number;
  askedAt: number;
  ended: boolean;
  stop: AbortController;
}

/** Maximum time to retry a write. The lease may have expired by then. */
const PERSIST_MS = 30_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;

/** Renews all leases of this process with one timer. */
export function createHolds(deps: HoldsDeps): Holds {
  const { clock, timing, owner, store } = deps;
  const holds = new Map<string, State>();
  const taker = (): Taker => ({ owner, now: store.now(), leaseMs: timing.leaseMs });
  const stop = clock.every(timing.renewMs / 4, () => {
    for (const hold of holds.values()) keep(deps, hold, taker());
  });
  return {
    taker,
    add({ tenant, session, lapsed }, since) {
      const name = nameOf(tenant, session.key);
      const hold = createState(deps, { tenant, session, lapsed, since, end: () => holds.get(name) === hold && holds.delete(name) });
      holds.set(name, hold);
      return hold;
    },
    has: (tenant, key) => holds.has(nameOf(tenant, key)),
    [Symbol.dispose]: stop,
  };
}

function nameOf(tenant: string, key: string): string {
  return `${tenant} ${key}`;
}

interface Beginning {
  tenant: string;
  session: SessionDocument;
  lapsed: boolean;
  since: number;
  end: () => void;
}

function createState({ clock, timing }: HoldsDeps, { tenant, session, lapsed, since, end }: Beginning): State {
  const stop = new AbortController();
  const state: State = {
    tenant,
    key: session.key,
    fence: session.fence,
    session,
    lapsed,
    renewedAt: since,
    askedAt: since,
    ended: false,
    stop,
    signal: stop.signal,
    held() {
      if (!stop.signal.aborted && clock.now() - state.renewedAt >= timing.heldMs) state.lose();
      return !stop.signal.aborted;
    },
    lose() {
      if (!stop.signal.aborted) stop.abort(leaseLost());
      state.end();
    },
    persist: (write, onTrouble) => persist(clock, write, onTrouble),
    end() {
      state.ended = true;
      end();
    },
  };
  return state;
}

/** Renews a lease that is due, and gives up a lease that could not be renewed in time. */
function keep({ clock, timing, sessions, log }: HoldsDeps, hold: State, taker: Taker): void {
  if (!hold.held()) return;
  const now = clock.now();
  if (now - hold.askedAt < timing.renewMs) return;
  hold.askedAt = now;
  renew(sessions.for(hold), hold, taker).then(
    (session) => {
      if (hold.ended) return;
      if (!session) return hold.lose();
      hold.renewedAt = now;
    },
    (err: unknown) =>
      log.warn({ session: hold.key, err, errorKind: 'dependency', hint: 'the work stops here if it fails again' }, 'lease not renewed'),
  );
}

/** Retries a write while the database is unavailable. */
export async function persist<T>(clock: Clock, write: () => Promise<T>, onTrouble?: () => void): Promise<T> {
  const until = clock.now() + PERSIST_MS;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'UNAVAILABLE' || clock.now() >= until) throw error;
      onTrouble?.();
    }
    await pause(clock, wait);
  }
}

/** Reloads the session. Returns false if another replica has the lease. */
export async function lookAgain(sessions: Collection<SessionDocument>, hold: Hold): Promise<boolean> {
  const session = await hold.persist(() => sessions.for(hold).get(hold.key));
  if (session?.fence !== hold.fence) {
    hold.lose();
    return false;
  }
  hold.session = session;
  return true;
}

/** Does not end the turn: another replica continues it. */
export function leaseLost(): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this session is over', { details: { reason: 'FENCED', retryable: false } });
}
