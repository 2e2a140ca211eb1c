import { ServiceError } from '@switchyard/contracts';
import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { LeaseTiming } from '@switchyard/work';
import type { SessionDocument } from '../model/session-document.ts';
import { renewLease, type LeaseRequest } from './session-queue.ts';

/** Lease on a session, as its holder sees it. */
export interface SessionLease {
  readonly tenant: string;
  readonly key: string;
  readonly fence: number;
  /** Session document as of the holder's last write. */
  session: SessionDocument;
  /** The previous lease expired without being released, so its holder may have started the queue head; false once that head is dequeued. */
  lapsed: boolean;
  /** Returns whether this process still holds the lease by its own clock. Checked before anything is published or executed. */
  isHeld(): boolean;
  /** Aborted when the lease is lost. */
  readonly signal: AbortSignal;
  /** Another replica has the lease. */
  markLost(): void;
  /** Retries a write while the database is unavailable. The guard of the write decides whether it still applies. */
  retryWrite<T>(write: () => Promise<T>, onTrouble?: () => void): Promise<T>;
  /** Stops renewing. */
  stopRenewing(): void;
}

export interface SessionLeases extends Disposable {
  /** Fields of a claim made now. */
  newRequest(): LeaseRequest;
  /** Registers a new lease. `since` is the clock time of the claim request. */
  add(claimed: { tenant: string; session: SessionDocument; lapsed: boolean }, since: number): SessionLease;
  /** Returns whether this process works on a session, whatever the database clock says. A machine that slept has not lost its leases. */
  has(tenant: string, key: string): boolean;
}

export interface SessionLeasesDeps {
  sessions: Collection<SessionDocument>;
  owner: string;
  store: { now(): number };
  clock: Clock;
  timing: LeaseTiming;
  log: Logger;
}

interface LeaseState extends SessionLease {
  renewedAt: number;
  renewRequestedAt: number;
  ended: boolean;
  stop: AbortController;
}

/** Maximum time to retry a write. The lease may have expired by then. */
const RETRY_TIMEOUT_MS = 30_000;
const MIN_RETRY_DELAY_MS = 25;
const MAX_RETRY_DELAY_MS = 1_000;

/** Renews all leases of this process with one timer. */
export function createSessionLeases(deps: SessionLeasesDeps): SessionLeases {
  const { clock, timing, owner, store } = deps;
  const leases = new Map<string, LeaseState>();
  const taker = (): LeaseRequest => ({ owner, now: store.now(), leaseMs: timing.leaseMs });
  const stop = clock.every(timing.renewMs / 4, () => {
    for (const lease of leases.values()) renewIfDue(deps, lease, taker());
  });
  return {
    newRequest: taker,
    add({ tenant, session, lapsed }, since) {
      const name = leaseName(tenant, session.key);
      const hold = createState(deps, { tenant, session, lapsed, since, end: () => leases.get(name) === hold && leases.delete(name) });
      leases.set(name, hold);
      return hold;
    },
    has: (tenant, key) => leases.has(leaseName(tenant, key)),
    [Symbol.dispose]: stop,
  };
}

function leaseName(tenant: string, key: string): string {
  return `${tenant} ${key}`;
}

interface LeaseStateOptions {
  tenant: string;
  session: SessionDocument;
  lapsed: boolean;
  since: number;
  end: () => void;
}

function createState({ clock, timing }: SessionLeasesDeps, { tenant, session, lapsed, since, end }: LeaseStateOptions): LeaseState {
  const stop = new AbortController();
  const state: LeaseState = {
    tenant,
    key: session.key,
    fence: session.fence,
    session,
    lapsed,
    renewedAt: since,
    renewRequestedAt: since,
    ended: false,
    stop,
    signal: stop.signal,
    isHeld() {
      if (!stop.signal.aborted && clock.now() - state.renewedAt >= timing.giveUpMs) state.markLost();
      return !stop.signal.aborted;
    },
    markLost() {
      if (!stop.signal.aborted) stop.abort(leaseLostError());
      state.stopRenewing();
    },
    retryWrite: (write, onTrouble) => persist(clock, write, onTrouble),
    stopRenewing() {
      state.ended = true;
      end();
    },
  };
  return state;
}

/** Renews a lease that is due, and gives up a lease that could not be renewed in time. */
function renewIfDue({ clock, timing, sessions, log }: SessionLeasesDeps, lease: LeaseState, taker: LeaseRequest): void {
  if (!lease.isHeld()) return;
  const now = clock.now();
  if (now - lease.renewRequestedAt < timing.renewMs) return;
  lease.renewRequestedAt = now;
  renewLease(sessions.for(lease), lease, taker).then(
    (session) => {
      if (lease.ended) return;
      if (!session) return lease.markLost();
      lease.renewedAt = now;
    },
    (err: unknown) =>
      log.warn(
        { session: lease.key, err, errorKind: 'dependency', hint: 'the runner stops if renewal fails again' },
        'failed to renew session lease',
      ),
  );
}

/** Retries a write while the database is unavailable. */
export async function persist<T>(clock: Clock, write: () => Promise<T>, onTrouble?: () => void): Promise<T> {
  const deadline = clock.now() + RETRY_TIMEOUT_MS;
  for (let wait = MIN_RETRY_DELAY_MS; ; wait = Math.min(wait * 2, MAX_RETRY_DELAY_MS)) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'UNAVAILABLE' || clock.now() >= deadline) throw error;
      onTrouble?.();
    }
    await pause(clock, wait);
  }
}

/** Reloads the session. Returns false if another replica has the lease. */
export async function reloadSession(sessions: Collection<SessionDocument>, lease: SessionLease): Promise<boolean> {
  const session = await lease.retryWrite(() => sessions.for(lease).get(lease.key));
  if (session?.fence !== lease.fence) {
    lease.markLost();
    return false;
  }
  lease.session = session;
  return true;
}

/** Does not end the turn: another replica continues it. */
export function leaseLostError(): ServiceError {
  return new ServiceError('ABORTED', 'session lease was lost', { details: { reason: 'FENCED', retryable: false } });
}
