import { ServiceError } from '@switchyard/contracts';
import { pause, type Clock } from '@switchyard/service-kit';
import type { Change, Documents, Filter } from '@switchyard/store';
import { getLineFields, type AnyWork, type Rooms } from './rooms.ts';
import type { Outcome, WorkChange } from './work-document.ts';

const MIN_RETRY_DELAY_MS = 25;
const MAX_RETRY_DELAY_MS = 1_000;

/** Lease TTL, renewal interval, and the time after which the holder gives up by its own monotonic clock. */
export interface LeaseTiming {
  leaseMs: number;
  renewMs: number;
  giveUpMs: number;
}

export const LEASE_TIMING: LeaseTiming = { leaseMs: 6_000, renewMs: 2_000, giveUpMs: 5_000 };

/** The exclusive right to run one document. */
export interface Lease<D> {
  readonly tenant: string;
  /** The document after the last write. */
  readonly document: D;
  readonly fence: number;
  /** Aborts when the lease is lost or released. */
  readonly signal: AbortSignal;
  /** Returns false once the lease may have expired, by the monotonic clock of this process. Ask before each external effect. */
  isHeld(): boolean;
  /** Throws ABORTED (reason FENCED) after a takeover or a cancellation. */
  write(change: WorkChange<D>): Promise<D>;
  /** Retries a write while the database is unavailable. Throws ABORTED (reason FENCED) once the lease is lost. */
  persist<T>(write: () => Promise<T>): Promise<T>;
}

export interface HeldLease extends Lease<AnyWork> {
  /** Writes the outcome of the run. May be repeated after a lost reply if it ends the document; otherwise the repetition is FENCED. */
  settle(outcome: Outcome<AnyWork>): Promise<void>;
  /** Makes the document due at once for another replica. */
  release(): Promise<void>;
  /** Stops the renewals and aborts the signal. */
  stop(): void;
}

export interface HoldOptions {
  tenant: string;
  documents: Documents<AnyWork>;
  key: string;
  document: AnyWork;
  now: () => number;
  clock: Clock;
  /** Time of the clock before the claim was sent. */
  sentAt: number;
  timing: LeaseTiming;
  rooms: Rooms | undefined;
}

export function holdLease({ tenant, documents, key, document, now, clock, sentAt, timing, rooms }: HoldOptions): HeldLease {
  const { fence, wakes } = document;
  const own: Filter<AnyWork> = { [key]: document[key], fence, state: 'running' };
  const lost = new AbortController();
  let heldUntil = sentAt + timing.giveUpMs;

  function stop(): void {
    stopRenewing();
    heldUntil = -Infinity;
    lost.abort(fencedError());
  }

  async function guarded(change: Change<AnyWork>): Promise<AnyWork> {
    const written = await documents.update(own, change);
    if (written) return (document = written);
    stop();
    throw fencedError();
  }

  async function renew(): Promise<void> {
    const at = clock.now();
    if (at >= heldUntil) return stop();
    const leaseUntil = now() + timing.leaseMs;
    await guarded({ set: { leaseUntil, dueAt: leaseUntil } });
    if (!lost.signal.aborted) heldUntil = Math.max(heldUntil, at + timing.giveUpMs);
  }
  // A failed renewal is repeated by the next tick until the lease is given up.
  const stopRenewing = clock.every(timing.renewMs, () => void renew().catch(() => undefined));

  const isHeld = (): boolean => clock.now() < heldUntil;

  async function persist<T>(write: () => Promise<T>): Promise<T> {
    for (let delayMs = MIN_RETRY_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_DELAY_MS)) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'UNAVAILABLE') throw error;
      }
      await pause(clock, delayMs);
      if (!isHeld()) throw fencedError();
    }
  }

  /** Returns the change that makes the document claimable at this time, in the line of its room if it has one. */
  function waitFrom(at: number, state: 'queued' | 'parked'): Change<AnyWork> {
    const { slotRoom } = document;
    const free = { state, leaseUntil: 0 };
    if (slotRoom === undefined) return { set: { ...free, dueAt: at } };
    return { set: { ...free, ...getLineFields(slotRoom, at) }, unset: ['slotRoom', 'slot'] };
  }

  /** Returns the change that makes the document claimable at this time with the slot that it holds. */
  function keepSlot(at: number, state: 'queued' | 'parked' = 'queued'): Change<AnyWork> {
    return { set: { state, leaseUntil: 0, dueAt: at } };
  }

  /** Returns whether an earlier attempt ended the document and only its reply was lost. Another caller may cancel it, but not end it. */
  async function isSettled(end: 'done' | 'failed' | 'cancelled'): Promise<boolean> {
    const stored = await documents.get(String(document[key]));
    return stored?.fence === fence && stored.state === end && end !== 'cancelled';
  }

  async function settle(outcome: Outcome<AnyWork>): Promise<void> {
    const { emit = [], set = {} } = outcome;
    const { slotRoom } = document;
    const keepsSlot = 'keepSlot' in outcome && (outcome.keepSlot ?? false);
    const complete = (change: Change<AnyWork>): Change<AnyWork> => ({ ...change, set: { ...set, ...change.set }, emit });
    if ('end' in outcome) {
      const change = complete({ set: { leaseUntil: 0, state: outcome.end }, unset: ['dueAt', 'slotRoom', 'slot'] });
      if (!(await documents.update(own, change)) && !(await isSettled(outcome.end))) {
        stop();
        throw fencedError();
      }
    } else if ('retryAt' in outcome) {
      // Later documents of a strict room must not overtake.
      const waiting = keepsSlot || rooms?.isStrict(tenant, document) ? keepSlot(outcome.retryAt) : waitFrom(outcome.retryAt, 'queued');
      await guarded(complete(waiting));
    } else {
      const parking = keepsSlot ? keepSlot(outcome.parkUntil, 'parked') : waitFrom(outcome.parkUntil, 'parked');
      const parked = await documents.update({ ...own, wakes }, complete(restart(parking)));
      if (!parked) await guarded(complete(restart(keepSlot(now()))));
    }
    stop();
    // After a failure the room is visited when the lease would have expired.
    if (slotRoom !== undefined && !keepsSlot) await rooms?.ring(tenant, slotRoom, now()).catch(() => undefined);
  }

  return {
    tenant,
    get document() {
      return document;
    },
    fence,
    signal: lost.signal,
    isHeld,
    write: (change) => guarded(change),
    persist,
    settle,
    async release() {
      // Given up before the write is sent, because another replica may claim the document before the reply arrives.
      stop();
      await guarded({ ...keepSlot(now()), inc: { attempts: -1 } });
    },
    stop,
  };
}

/** Parking is progress, so that only attempts after it count. */
function restart(change: Change<AnyWork>): Change<AnyWork> {
  return { ...change, set: { ...change.set, attempts: 0 } };
}

function fencedError(): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this work is no longer held', { details: { reason: 'FENCED', retryable: false } });
}
