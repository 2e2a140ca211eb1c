import type { Clock } from '@switchyard/service-kit';
import type { Claims } from './claims.ts';
import type { HeldLease } from './lease.ts';
import type { AnyWork, Rooms } from './rooms.ts';
import type { WorkOptions } from './work-options.ts';

/** A replica that missed a wake finds work of a killed holder within its lease and this time. */
const MAX_POLL_INTERVAL_MS = 3_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

export interface Runner {
  poll(): Promise<void>;
  /** Releases the running documents. */
  close(): Promise<void>;
}

export interface RunnerDeps extends Pick<WorkOptions<AnyWork>, 'now' | 'capacity' | 'run' | 'poison' | 'log'> {
  key: string;
  claims: Claims;
  rooms: Rooms | undefined;
  clock: Clock;
}

/** Claims due documents up to the capacity, and runs them. */
export function createRunner({ key, claims, rooms, now, clock, capacity, run, poison, log }: RunnerDeps): Runner {
  const running = new Map<HeldLease, Promise<void>>();
  let cancelTimer = (): void => undefined;
  let polling: Promise<void> | undefined;
  let pollAgain = false;
  let closed = false;

  async function execute(lease: HeldLease): Promise<void> {
    try {
      const { document } = lease;
      const outcome = document.attempts > poison.maxAttempts ? poison.outcome(document) : await run(lease);
      // A finished run is not repeated because the database is away for a moment.
      await lease.persist(() => lease.settle(outcome));
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
      await rooms?.recover();
      while (!closed && running.size < capacity()) {
        const lease = await claims.next();
        if (!lease) break;
        launch(lease);
      }
      waitMs = Math.max((await claims.getNextDueAt()) - now(), running.size < capacity() ? 0 : RETRY_MS);
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

  return {
    poll,
    async close() {
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
