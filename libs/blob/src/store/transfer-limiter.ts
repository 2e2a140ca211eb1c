import type { ServiceError } from '@switchyard/contracts';
import { closed, idle, left, tooMany } from './blob-errors.ts';
import type { BlobLimits } from './blob-limits.ts';

/** A write or a read that runs, and the place it takes. Disposing gives the place back. */
export interface Transfer extends Disposable {
  /** While the store itself works nobody is idle: time counts when the other side is waited for. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

export interface TransferPlace {
  tenant: string;
  /** For the words of an error. */
  what: string;
  signal: AbortSignal | undefined;
  /** Called once if it must end before its time: idle, cancelled, or the store is closed. */
  onEnd: (why: ServiceError) => void;
}

/** Counts the transfers that run, and ends those in which nothing moves. */
export interface Transfers {
  /** Fails RESOURCE_EXHAUSTED when there are too many, of this tenant or in all. */
  begin(place: TransferPlace): Transfer;
  /** Ends all that run, and refuses what comes. */
  close(): void;
}

export function createTransfers({ maxTransfers, maxTransfersPerTenant, idleMs }: BlobLimits): Transfers {
  const running = new Set<(why: ServiceError) => void>();
  const perTenant = new Map<string, number>();
  let open = true;

  function count(tenant: string, by: number): void {
    const now = (perTenant.get(tenant) ?? 0) + by;
    if (now === 0) perTenant.delete(tenant);
    else perTenant.set(tenant, now);
  }

  return {
    begin({ tenant, what, signal, onEnd }) {
      if (!open) throw closed();
      if (signal?.aborted === true) throw left();
      if (running.size >= maxTransfers) throw tooMany('transfers', maxTransfers);
      if ((perTenant.get(tenant) ?? 0) >= maxTransfersPerTenant) throw tooMany('transfers of this tenant', maxTransfersPerTenant);
      let ended = false;
      const watch = (): NodeJS.Timeout => setTimeout(() => end(idle(what, idleMs)), idleMs).unref();
      let timer = watch();
      const leave = (): void => end(left());
      signal?.addEventListener('abort', leave, { once: true });
      running.add(end);
      count(tenant, 1);

      function end(why?: ServiceError): void {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        running.delete(end);
        count(tenant, -1);
        if (why !== undefined) onEnd(why);
      }

      return {
        async during(work) {
          clearTimeout(timer);
          try {
            return await work();
          } finally {
            if (!ended) timer = watch();
          }
        },
        [Symbol.dispose]: () => end(),
      };
    },
    close() {
      open = false;
      for (const end of running) end(closed());
    },
  };
}
