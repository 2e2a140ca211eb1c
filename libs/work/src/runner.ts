import type { Clock } from '@switchyard/service-kit';
import type { Claims } from './claims.ts';
import type { HeldLease } from './lease.ts';
import type { AnyWork, Rooms } from './rooms.ts';
import type { Outcome } from './work-document.ts';
import type { WorkOptions } from './work-options.ts';

/** A replica that missed a wake finds work of a killed holder within its lease and this time. */
const MAX_POLL_INTERVAL_MS = 3_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

export interface Runner {
  poll(): Promise<void>;
  /** Runs a document whose lease this replica holds, whatever the capacity. */
  run(lease: HeldLease, run: WorkOptions<AnyWork>['run']): void;
  /** Waits for the running documents, and releases those that do not end in time. */
  close(): Promise<void>;
}

export interface RunnerDeps extends Pick<WorkOptions<AnyWork>, 'now' | 'capacity' | 'run' | 'poison' | 'log' | 'drainMs'> {
  key: string;
  claims: Claims;
  rooms: Rooms | undefined;
  clock: Clock;
}

/** Claims due documents up to the capacity, and runs them. */
export function createRunner({ key, claims, rooms, now, clock, capacity, run, poison, log, drainMs = 0 }: RunnerDeps): Runner {
  const running = new Map<HeldLease, Promise<void>>();
  /** Number of running documents that were claimed. */
  let claimed = 0;
  let cancelTimer = (): void => undefined;
  let polling: Promise<void> | undefined;
  let pollAgain = false;
  let closed = false;

  async function execute(lease: HeldLease, runDocument: WorkOptions<AnyWork>['run']): Promise<void> {
    let outcome: Outcome<AnyWork> | undefined;
    let isWritten = false;
    try {
      const { document } = lease;
      outcome = document.attempts > poison.maxAttempts ? poison.outcome(document) : await runDocument(lease);
      // A finished run is not repeated because the database is away for a moment.
      await lease.persist(() => lease.settle(outcome as Outcome<AnyWork>));
      isWritten = true;
    } catch (error) {
      if (lease.signal.aborted) return;
      log?.warn({ err: error, [key]: lease.document[key], hint: 'the work is retried' }, 'work failed');
      const delayMs = Math.min(RETRY_MS * 2 ** (lease.document.attempts - 1), MAX_RETRY_MS);
      // The run may have started work elsewhere. If this write fails too, the lease expires and another replica takes over.
      await lease.settle({ retryAt: now() + delayMs, keepSlot: true }).catch(() => undefined);
    } finally {
      lease.stop();
      await report(lease, outcome, isWritten);
    }
  }

  async function report({ document }: HeldLease, outcome: Outcome<AnyWork> | undefined, isWritten: boolean): Promise<void> {
    try {
      await outcome?.onSettled?.(isWritten);
    } catch (err) {
      log?.warn({ err, [key]: document[key], hint: 'the outcome itself is stored' }, 'failed to report the outcome of work');
    }
  }

  function launch(lease: HeldLease, runDocument: WorkOptions<AnyWork>['run'], onEnd: () => void): void {
    const execution = execute(lease, runDocument).finally(() => {
      running.delete(lease);
      onEnd();
    });
    running.set(lease, execution);
  }

  function launchClaimed(lease: HeldLease): void {
    claimed += 1;
    launch(lease, run, () => {
      claimed -= 1;
      void poll().catch(() => undefined);
    });
  }

  async function claimAll(): Promise<void> {
    let waitMs = RETRY_MS;
    try {
      while (!closed && claimed < capacity()) {
        const lease = await claims.next();
        if (!lease) break;
        launchClaimed(lease);
      }
      // The poll that follows reads the next time.
      if (pollAgain) return;
      const nextAt = await claims.getNextDueAt();
      // Due documents that were not claimed wait in a line, or another replica has claimed them meanwhile.
      if (rooms && nextAt <= now() && claimed < capacity() && (await rooms.recover())) pollAgain = true;
      waitMs = Math.max(nextAt - now(), claimed < capacity() ? 0 : RETRY_MS);
    } finally {
      cancelTimer();
      const delayMs = Math.min(waitMs, MAX_POLL_INTERVAL_MS);
      if (!closed) cancelTimer = clock.after(delayMs, () => void poll().catch(() => undefined));
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

  /** Resolves when all running documents have ended, or after `drainMs`. */
  async function drain(): Promise<void> {
    if (drainMs === 0 || running.size === 0) return;
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(drainMs, resolve);
    await Promise.race([isOver, Promise.all(running.values())]);
    cancel();
  }

  return {
    poll,
    run: (lease, runDocument) => launch(lease, runDocument, () => undefined),
    async close() {
      closed = true;
      cancelTimer();
      await polling?.catch(() => undefined);
      await drain();
      const leases = [...running];
      // A lease that cannot be released expires, as after a crash.
      await Promise.all(leases.map(([lease]) => lease.release().catch(() => lease.stop())));
      await Promise.all(leases.map(([, execution]) => execution));
    },
  };
}
