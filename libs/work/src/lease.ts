import { ServiceError } from '@switchyard/contracts';
import type { Change, Document, Documents, Filter } from '@switchyard/store';
import type { Outcome, WorkChange, WorkDocument } from './work-document.ts';

export type AnyWork = Document & WorkDocument;

export interface LeaseTiming {
  leaseMs: number;
  renewMs: number;
  giveUpMs: number;
}

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
}

export interface HeldLease extends Lease<AnyWork> {
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
  monotonic: () => number;
  /** Monotonic time before the claim was sent. */
  sentAt: number;
  timing: LeaseTiming;
}

export function holdLease({ tenant, documents, key, document, now, monotonic, sentAt, timing }: HoldOptions): HeldLease {
  const { fence, wakes } = document;
  const own: Filter<AnyWork> = { [key]: document[key], fence, state: 'running' };
  const lost = new AbortController();
  let heldUntil = sentAt + timing.giveUpMs;

  function stop(): void {
    clearInterval(renewals);
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
    const at = monotonic();
    if (at >= heldUntil) return stop();
    const leaseUntil = now() + timing.leaseMs;
    await guarded({ set: { leaseUntil, dueAt: leaseUntil } });
    if (!lost.signal.aborted) heldUntil = Math.max(heldUntil, at + timing.giveUpMs);
  }
  // A failed renewal is repeated by the next tick until the lease is given up.
  const renewals = setInterval(() => void renew().catch(() => undefined), timing.renewMs).unref();

  async function settle(outcome: Outcome<AnyWork>): Promise<void> {
    const { emit = [], set = {} } = outcome;
    const free = { ...set, leaseUntil: 0 };
    if ('end' in outcome) await guarded({ set: { ...free, state: outcome.end }, unset: ['dueAt'], emit });
    else if ('retryAt' in outcome) await guarded({ set: { ...free, state: 'queued', dueAt: outcome.retryAt }, emit });
    else {
      const parked: Change<AnyWork> = { set: { ...free, state: 'parked', dueAt: outcome.parkUntil }, inc: { attempts: -1 }, emit };
      const written = await documents.update({ ...own, wakes }, parked);
      if (!written) await guarded({ set: { ...free, state: 'queued', dueAt: now() }, inc: { attempts: -1 }, emit });
    }
    stop();
  }

  return {
    tenant,
    get document() {
      return document;
    },
    fence,
    signal: lost.signal,
    isHeld: () => monotonic() < heldUntil,
    write: (change) => guarded(change),
    settle,
    release: async () => {
      await guarded({ set: { state: 'queued', leaseUntil: 0, dueAt: now() }, inc: { attempts: -1 } });
      stop();
    },
    stop,
  };
}

function fencedError(): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this work is no longer held', { details: { reason: 'FENCED', retryable: false } });
}
