import { ServiceError } from '@switchyard/contracts';
import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SessionDocument } from '../model/session-document.ts';
import { renew, type Taker } from './session-queue.ts';

/** How long a lease lives without being renewed, how often it is, and when its holder takes it for lost by a clock of its own. */
export interface LeaseTiming {
  leaseMs: number;
  renewMs: number;
  heldMs: number;
}

export const LEASE_TIMING: LeaseTiming = { leaseMs: 6_000, renewMs: 2_000, heldMs: 5_000 };

/** The right to work on a session. */
export interface Hold {
  readonly tenant: string;
  readonly key: string;
  readonly fence: number;
  /** As of the last write of it here. */
  session: SessionDocument;
  /** Whoever held the lease before did not give it back, and may have begun. */
  readonly lapsed: boolean;
  /** Whether the lease is still this process's, by its own clock: asked before anything is published or done. */
  held(): boolean;
  /** Aborts when the lease is over. */
  readonly signal: AbortSignal;
  /** Somebody else has the lease. */
  lose(): void;
  /** Tries a write again while the database cannot be reached; its own guard says whether it still counts. */
  persist<T>(write: () => Promise<T>, onTrouble?: () => void): Promise<T>;
  /** Renews no more. */
  end(): void;
}

export interface Holds extends Disposable {
  /** What a claim that is made now is to say. */
  taker(): Taker;
  /** A lease that was just taken; `since` is when it was asked for, by the clock. */
  add(claimed: { tenant: string; session: SessionDocument; lapsed: boolean }, since: number): Hold;
  /** Whether this process works on a session, whatever the database's clock says: a machine that slept has lost nothing. */
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

/** How long a write is tried again, although the lease may be over by then. */
const PERSIST_MS = 30_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;

/** Renews the leases that this process has, all by one clock. */
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

/** Renews a lease that is due, and gives up one that could not be renewed for too long. */
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

/** Tries a write again while the database cannot be reached. */
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

/** Reads the session as it is now. False when somebody else has the lease. */
export async function lookAgain(sessions: Collection<SessionDocument>, hold: Hold): Promise<boolean> {
  const session = await hold.persist(() => sessions.for(hold).get(hold.key));
  if (session?.fence !== hold.fence) {
    hold.lose();
    return false;
  }
  hold.session = session;
  return true;
}

/** Not an end of the turn: somebody else goes on with it. */
export function leaseLost(): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this session is over', { details: { reason: 'FENCED', retryable: false } });
}
