import type { ServiceError } from '@switchyard/contracts';
import { storeClosed, tooManyTransfers, transferCancelled, transferIdle } from './blob-errors.ts';
import type { BlobLimits } from './blob-limits.ts';

/** A running read or write. Disposing it frees its slot. */
export interface Transfer extends Disposable {
  /** Runs work of the store itself. The idle timer only counts time in which the caller is waited for. */
  pauseIdleTimer<T>(work: () => Promise<T>): Promise<T>;
}

export interface TransferRequest {
  tenant: string;
  /** Used in error messages. */
  name: string;
  signal: AbortSignal | undefined;
  /** Called once if the transfer ends early: it is idle or cancelled, or the store is closed. */
  onEnd: (reason: ServiceError) => Promise<void>;
}

/** Limits the number of concurrent transfers and ends idle ones. */
export interface TransferLimiter {
  /** Fails RESOURCE_EXHAUSTED above the limit for the tenant or the process. */
  begin(request: TransferRequest): Transfer;
  /** Ends all transfers, waits for their `onEnd`, and rejects new ones. */
  close(): Promise<void>;
}

export function createTransferLimiter({ maxTransfers, maxTransfersPerTenant, idleMs }: BlobLimits): TransferLimiter {
  const running = new Set<(reason: ServiceError) => Promise<void>>();
  const perTenant = new Map<string, number>();
  let open = true;

  function addToTenant(tenant: string, delta: number): void {
    const count = (perTenant.get(tenant) ?? 0) + delta;
    if (count === 0) perTenant.delete(tenant);
    else perTenant.set(tenant, count);
  }

  return {
    begin({ tenant, name, signal, onEnd }) {
      if (!open) throw storeClosed();
      if (signal?.aborted === true) throw transferCancelled();
      if (running.size >= maxTransfers) throw tooManyTransfers('transfers', maxTransfers);
      if ((perTenant.get(tenant) ?? 0) >= maxTransfersPerTenant) throw tooManyTransfers('transfers of this tenant', maxTransfersPerTenant);
      let ended = false;
      const startTimer = (): NodeJS.Timeout => setTimeout(() => void end(transferIdle(name, idleMs)), idleMs).unref();
      let timer = startTimer();
      const cancel = (): void => void end(transferCancelled());
      signal?.addEventListener('abort', cancel, { once: true });
      running.add(end);
      addToTenant(tenant, 1);

      async function end(reason?: ServiceError): Promise<void> {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        signal?.removeEventListener('abort', cancel);
        running.delete(end);
        addToTenant(tenant, -1);
        if (reason !== undefined) await onEnd(reason);
      }

      return {
        async pauseIdleTimer(work) {
          clearTimeout(timer);
          try {
            return await work();
          } finally {
            if (!ended) timer = startTimer();
          }
        },
        [Symbol.dispose]: () => void end(),
      };
    },
    async close() {
      open = false;
      await Promise.all([...running].map((end) => end(storeClosed())));
    },
  };
}
