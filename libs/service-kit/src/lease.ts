import { ServiceError } from '@switchyard/contracts';
import type { Change, Collection, Document, Documents, Filter, FindOptions, OutboxEvent } from '@switchyard/store';
import { z } from 'zod';

export const WorkState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type WorkState = z.infer<typeof WorkState>;
export type FinalState = Exclude<WorkState, 'queued' | 'running'>;

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Renewals in a row that may fail, or stay without an answer, before the lease counts as lost. */
const ALLOWED_MISSES = 2;

/** To spread into the schema of a work document: a turn, a cron run, a graph node, a delivery. */
export const leaseFields = {
  state: WorkState.default('queued'),
  /** The replica that runs it, or ran it last. */
  owner: z.string().nullable().default(null),
  /** Epoch ms by the database's clock; 0 where nobody holds it. */
  leaseUntil: z.int().nonnegative().default(0),
  /** Grows with each claim; a write with an older one is refused. */
  fence: z.int().nonnegative().default(0),
  attempts: z.int().nonnegative().default(0),
};

const Unclaimed = z.object(leaseFields);
export type WorkDocument = z.infer<typeof Unclaimed>;

/** The lease fields of work that nobody has claimed yet, to spread into a new document. */
export function newWork(): WorkDocument {
  return Unclaimed.parse({});
}

/** What a runner may change: the lease's own fields change through `finish` and `release` alone. */
export interface WorkChange<D> extends Omit<Change<D>, 'if' | 'set'> {
  set?: Partial<Omit<D, keyof WorkDocument>>;
}

/** The right to work on one document, renewed until it is finished, released or lost. */
export interface Lease<D> extends AsyncDisposable {
  readonly tenant: string;
  /** As of the last write. */
  readonly document: D;
  readonly fence: number;
  /** Aborts when the lease is lost: somebody else took over, or it could not be renewed in time. */
  readonly signal: AbortSignal;
  /** Refused with ABORTED (reason FENCED) once somebody else took over. */
  write(change: WorkChange<D>): Promise<D>;
  /** The last write, guarded like every other. */
  finish(state: FinalState, set?: WorkChange<D>['set'], emit?: readonly OutboxEvent[]): Promise<D>;
  /** Puts the work back in the queue, for anybody to claim at once. Leaving a lease unfinished (`await using`) does the same. */
  release(): Promise<void>;
}

export interface Leases<D> {
  /** Takes the first match that is queued, or running with a lease that ran out; null when there is none. A null tenant means any. */
  claim(tenant: string | null, filter?: Filter<D>, options?: Pick<FindOptions<D>, 'sort'>): Promise<Lease<D> | null>;
}

export interface LeaseOptions<D extends Work> {
  documents: Collection<D>;
  /** This replica's name. */
  owner: string;
  /** The database's clock: `store.now`. */
  now: () => number;
  leaseMs?: number;
  renewMs?: number;
  log?: { warn(fields: object, message: string): void };
}

type Work = Document & WorkDocument;

/** One pattern for all durable work: of concurrent claims one wins, and the fence keeps out whoever has lost. */
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
    const fenced = new ServiceError('ABORTED', 'somebody else took this work over', { details: { reason: 'FENCED', retryable: false } });
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
      if (!ended) warn(error, 'lease not renewed', 'the work stops here if it fails again');
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

  /** A failure needs no handling: the lease expires, as if this process had died. */
  async function release(): Promise<void> {
    if (ended) return;
    try {
      await finalWrite({ set: { state: 'queued', owner: null, leaseUntil: 0 } });
    } catch (error) {
      warn(error, 'lease not released', 'it runs out by itself');
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

/** Repeats a task, and gives up after too many attempts in a row that failed or did not end. */
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

/** The database could not be reached in time, so another replica may hold the lease by now. */
function unrenewed(cause?: unknown): ServiceError {
  return new ServiceError('ABORTED', 'the lease on this work could not be renewed', {
    details: { reason: 'LEASE_LOST', retryable: false },
    cause,
  });
}
