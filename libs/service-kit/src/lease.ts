import { ServiceError } from '@switchyard/contracts';
import type { Change, Collection, Document, Documents, Filter, FindOptions, OutboxEvent } from '@switchyard/store';
import { z } from 'zod';

export const WorkState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type WorkState = z.infer<typeof WorkState>;
export type FinalState = Exclude<WorkState, 'queued' | 'running'>;

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Consecutive renewals that may fail or time out before the lease counts as lost. */
const ALLOWED_MISSES = 2;

/** Schema fields of a work document, such as a turn, a cron run, a graph node or a delivery. */
export const leaseFields = {
  state: WorkState.default('queued'),
  /** The current or last lease holder. */
  owner: z.string().nullable().default(null),
  /** Expiry in epoch ms of the database's clock; 0 without a lease holder. */
  leaseUntil: z.int().nonnegative().default(0),
  /** Increases with each claim. Writes with an older fence are rejected. */
  fence: z.int().nonnegative().default(0),
  attempts: z.int().nonnegative().default(0),
};

const Unclaimed = z.object(leaseFields);
export type WorkDocument = z.infer<typeof Unclaimed>;

/** Returns the lease fields of a new, unclaimed work document. */
export function newWork(): WorkDocument {
  return Unclaimed.parse({});
}

/** A change by the lease holder. Only `finish` and `release` change the lease fields. */
export interface WorkChange<D> extends Omit<Change<D>, 'if' | 'set'> {
  set?: Partial<Omit<D, keyof WorkDocument>>;
}

/** The exclusive right to work on one document. It is renewed until it is finished, released or lost. */
export interface Lease<D> extends AsyncDisposable {
  readonly tenant: string;
  /** The document after the last write. */
  readonly document: D;
  readonly fence: number;
  /** Aborts when the lease is lost: another replica took over, or renewals failed for too long. */
  readonly signal: AbortSignal;
  /** Throws ABORTED (reason FENCED) after another replica took over. */
  write(change: WorkChange<D>): Promise<D>;
  /** Writes the final state; fenced like every other write. */
  finish(state: FinalState, set?: WorkChange<D>['set'], emit?: readonly OutboxEvent[]): Promise<D>;
  /** Puts the work back in the queue. Disposing an unfinished lease does the same. */
  release(): Promise<void>;
}

export interface Leases<D> {
  /** Claims the first match that is queued, or running with an expired lease; null if there is none. A null tenant matches all tenants. */
  claim(tenant: string | null, filter?: Filter<D>, options?: Pick<FindOptions<D>, 'sort'>): Promise<Lease<D> | null>;
}

export interface LeaseOptions<D extends Work> {
  documents: Collection<D>;
  /** Name of this replica. */
  owner: string;
  /** The database's clock: `store.now`. */
  now: () => number;
  leaseMs?: number;
  renewMs?: number;
  log?: { warn(fields: object, message: string): void };
}

type Work = Document & WorkDocument;

/** Leases for durable work. Exactly one of several concurrent claims succeeds; the fence rejects writes of earlier lease holders. */
export function createLeases<D extends Work>(options: LeaseOptions<D>): Leases<D> {
  const { owner, now, leaseMs = LEASE_MS } = options;
  const all = options.documents as Collection<Document> as Collection<Work>;
  return {
    async claim(tenant, filter = {}, { sort } = {}) {
      const change: Change<WorkDocument> = {
        set: { state: 'running', owner, leaseUntil: now() + leaseMs },
        inc: { fence: 1, attempts: 1 },
        if: { state: { in: ['queued', 'running'] }, leaseUntil: { lte: now() } },
      };
      const from = tenant === null ? all.system() : all.for({ tenant });
      const claimed = await from.claim(filter, change, sort ? { sort } : {});
      if (!claimed) return null;
      const { tenant: named, ...document } = claimed;
      const whose = tenant ?? String(named);
      const lease = hold({ ...options, tenant: whose, documents: all.for({ tenant: whose }), key: all.key, document });
      return lease as Lease<Document> as Lease<D>;
    },
  };
}

interface Holding extends Omit<LeaseOptions<Work>, 'documents'> {
  tenant: string;
  documents: Documents<Work>;
  key: string;
  document: Work;
}

function hold({ tenant, documents, key, document, now, log, leaseMs = LEASE_MS, renewMs = RENEW_MS }: Holding): Lease<Work> {
  const { fence } = document;
  const mine: Filter<Document> = { [key]: document[key], fence, state: 'running' };
  const lost = new AbortController();
  let ended = false;

  function lose(reason: ServiceError): void {
    if (ended) return;
    ended = true;
    stopRenewing();
    lost.abort(reason);
  }

  async function guarded(change: Change<Work>): Promise<Work> {
    const written = await documents.update(mine, change);
    if (written) return written;
    const fenced = new ServiceError('ABORTED', 'another replica took over the lease', { details: { reason: 'FENCED', retryable: false } });
    lose(fenced);
    throw fenced;
  }

  function warn(error: unknown, message: string, hint: string): void {
    log?.warn({ err: error, [key]: document[key], errorKind: 'dependency', hint }, message);
  }

  async function renew(): Promise<void> {
    try {
      const { leaseUntil } = await guarded({ set: { leaseUntil: now() + leaseMs } });
      document = { ...document, leaseUntil };
    } catch (error) {
      if (!ended) warn(error, 'failed to renew the lease', 'the work stops if renewal fails again');
      throw error;
    }
  }
  const stopRenewing = repeat(renewMs, renew, (cause) => lose(unrenewed(cause)));

  async function finalWrite(change: Change<Work>): Promise<Work> {
    stopRenewing();
    document = await guarded(change);
    ended = true;
    return document;
  }

  /** Ignores failures, because the lease then expires as after a crash. */
  async function release(): Promise<void> {
    if (ended) return;
    try {
      await finalWrite({ set: { state: 'queued', owner: null, leaseUntil: 0 } });
    } catch (error) {
      warn(error, 'failed to release the lease', 'the lease expires by itself');
    }
  }

  return {
    tenant,
    get document() {
      return document;
    },
    fence,
    signal: lost.signal,
    write: async (change) => (document = await guarded(change)),
    finish: (state, set = {}, emit = []) => finalWrite({ set: { ...set, state, leaseUntil: 0 }, emit }),
    release,
    [Symbol.asyncDispose]: release,
  };
}

/** Repeats a task; calls `giveUp` after too many consecutive attempts failed or did not finish. */
function repeat(everyMs: number, task: () => Promise<void>, giveUp: (cause?: unknown) => void): () => void {
  let unanswered = 0;
  const attempt = async (): Promise<void> => {
    if (unanswered === ALLOWED_MISSES) return giveUp();
    unanswered += 1;
    try {
      await task();
      unanswered = 0;
    } catch (error) {
      if (unanswered === ALLOWED_MISSES) giveUp(error);
    }
  };
  const timer = setInterval(() => void attempt(), everyMs).unref();
  return () => clearInterval(timer);
}

/** The database was unreachable for too long, so another replica may hold the lease now. */
function unrenewed(cause?: unknown): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this work could not be renewed', {
    details: { reason: 'LEASE_LOST', retryable: false },
    cause,
  });
}
