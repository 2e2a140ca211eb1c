import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import { holdLease, type AnyWork, type HeldLease, type Lease, type LeaseTiming } from './lease.ts';
import type { Fields, Outcome, WorkChange } from './work-document.ts';

const TIMING: LeaseTiming = { leaseMs: 6_000, renewMs: 2_000, giveUpMs: 5_000 };
/** A replica that missed a wake finds work of a killed holder within its lease and this time. */
const MAX_POLL_INTERVAL_MS = 3_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

type Tenant = Pick<Principal, 'tenant'>;

export interface WorkOptions<D extends AnyWork> {
  documents: Collection<D>;
  /** Name of this replica. */
  owner: string;
  /** The database's clock: `store.now`. */
  now: () => number;
  /** Documents that run at once on this replica. */
  capacity: () => number;
  run: (lease: Lease<D>) => Promise<Outcome<D>>;
  poison: { maxAttempts: number; outcome: (document: D) => Outcome<D> };
  timing?: LeaseTiming;
  /** Monotonic clock in ms. */
  monotonic?: () => number;
  /** Runs a task after a delay and returns a function that cancels it. By default a timer that does not keep the process alive. */
  setTimer?: (task: () => void, delayMs: number) => () => void;
  log?: { warn(fields: object, message: string): void };
}

export interface Work<D> extends AsyncDisposable {
  /** Inserts the document. If its key exists, returns the stored document instead. */
  add(principal: Tenant, document: D, options?: { dueAt?: number }): Promise<{ document: D; existed: boolean }>;
  /** Makes a queued or parked document due now and applies the change; null if the guard does not match or the document has ended. */
  wake(tenant: string, key: string, change?: WorkChange<D>, guard?: Filter<D>): Promise<D | null>;
  /** Ends the document as cancelled; null if it has ended already. A running holder is fenced. */
  cancel(tenant: string, key: string, set?: Fields<D>): Promise<D | null>;
  /** Claims due documents up to the capacity and starts them. */
  poll(): Promise<void>;
}

export function createWork<D extends AnyWork>(options: WorkOptions<D>): Work<D> {
  return start(options as unknown as WorkOptions<AnyWork>) as unknown as Work<D>;
}

function start({ documents, owner, now, capacity, run, poison, timing = TIMING, log, ...clocks }: WorkOptions<AnyWork>): Work<AnyWork> {
  const monotonic = clocks.monotonic ?? (() => performance.now());
  const setTimer = clocks.setTimer ?? setUnreferencedTimer;
  const { key } = documents;
  const running = new Map<HeldLease, Promise<void>>();
  let cancelTimer = (): void => undefined;
  let polling: Promise<void> | undefined;
  let pollAgain = false;
  let closed = false;

  async function claim(): Promise<HeldLease | null> {
    const sentAt = monotonic();
    const leaseUntil = now() + timing.leaseMs;
    const claimed = await documents
      .system()
      .claim(
        { dueAt: { lte: now() } },
        { set: { state: 'running', owner, leaseUntil, dueAt: leaseUntil }, inc: { fence: 1, attempts: 1 } },
        { sort: [['dueAt', 'asc']] },
      );
    if (!claimed) return null;
    const { tenant, ...document } = claimed;
    const own = documents.for({ tenant });
    return holdLease({ tenant, documents: own, key, document, now, monotonic, sentAt, timing });
  }

  async function execute(lease: HeldLease): Promise<void> {
    try {
      const { document } = lease;
      await lease.settle(document.attempts > poison.maxAttempts ? poison.outcome(document) : await run(lease));
    } catch (error) {
      if (lease.signal.aborted) return;
      log?.warn({ err: error, [key]: lease.document[key], hint: 'the work is retried' }, 'work failed');
      const delayMs = Math.min(RETRY_MS * 2 ** (lease.document.attempts - 1), MAX_RETRY_MS);
      // If this write fails too, the lease expires and another replica takes over.
      await lease.settle({ retryAt: now() + delayMs }).catch(() => undefined);
    } finally {
      lease.stop();
    }
  }

  function launch(lease: HeldLease): void {
    const execution = execute(lease).finally(() => {
      running.delete(lease);
      void poll().catch(() => undefined);
    });
    running.set(lease, execution);
  }

  async function claimAll(): Promise<void> {
    let waitMs = RETRY_MS;
    try {
      while (!closed && running.size < capacity()) {
        const lease = await claim();
        if (!lease) break;
        launch(lease);
      }
      const next = await documents.system().find({ dueAt: { gt: 0 } }, { sort: [['dueAt', 'asc']], limit: 1 });
      waitMs = Math.max((next.items[0]?.dueAt ?? Infinity) - now(), running.size < capacity() ? 0 : RETRY_MS);
    } finally {
      cancelTimer();
      const delayMs = Math.min(waitMs, MAX_POLL_INTERVAL_MS);
      if (!closed) cancelTimer = setTimer(() => void poll().catch(() => undefined), delayMs);
    }
  }

  /** Polls made during a poll share one more poll. */
  async function poll(): Promise<void> {
    if (closed) return;
    pollAgain = true;
    polling ??= (async () => {
      try {
        while (pollAgain && !closed) {
          pollAgain = false;
          await claimAll();
        }
      } finally {
        polling = undefined;
      }
    })();
    return polling;
  }

  return {
    async add({ tenant }, document, { dueAt = now() } = {}) {
      try {
        return { document: await documents.for({ tenant }).insert({ ...document, dueAt }), existed: false };
      } catch (error) {
        const stored = isDuplicate(error) ? await documents.for({ tenant }).get(String(document[key])) : null;
        if (stored) return { document: stored, existed: true };
        throw error;
      }
    },
    async wake(tenant, id, change = {}, guard = {}) {
      const own = documents.for({ tenant });
      const inc = { ...change.inc, wakes: 1 };
      const waiting = { ...change, set: { ...change.set, state: 'queued' as const, dueAt: now() }, inc };
      const idle = { state: { in: ['queued', 'parked'] as const } };
      const wakeIdle = () => own.update({ ...guard, [key]: id }, { ...waiting, if: idle });
      const filter = { ...guard, [key]: id };
      // The second attempt covers a document that parks between the two updates.
      return (await wakeIdle()) ?? (await own.update(filter, { ...change, inc, if: { state: 'running' } })) ?? (await wakeIdle());
    },
    cancel: (tenant, id, set = {}) =>
      documents.for({ tenant }).update(
        { [key]: id },
        {
          set: { ...set, state: 'cancelled', leaseUntil: 0 },
          unset: ['dueAt'],
          if: { state: { in: ['queued', 'parked', 'running'] } },
        },
      ),
    poll,
    async [Symbol.asyncDispose]() {
      closed = true;
      cancelTimer();
      await polling?.catch(() => undefined);
      const leases = [...running];
      // A lease that cannot be released expires, as after a crash.
      await Promise.all(leases.map(([lease]) => lease.release().catch(() => lease.stop())));
      await Promise.all(leases.map(([, execution]) => execution));
    },
  };
}

function setUnreferencedTimer(task: () => void, delayMs: number): () => void {
  const timer = setTimeout(task, delayMs).unref();
  return () => clearTimeout(timer);
}

function isDuplicate(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'ALREADY_EXISTS';
}
