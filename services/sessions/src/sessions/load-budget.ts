import { ServiceError, type Principal } from '@switchyard/contracts';

const MIB = 1024 * 1024;
/** Bytes that one client may have loaded at a time, and all clients of this process together. */
const MAX_CLIENT_BYTES = 16 * MIB;
const MAX_BYTES = 64 * MIB;

/** Memory that a page of history takes while it is loaded: its texts and its answer. */
export const PAGE_BYTES = 4 * MIB;
/** A whole conversation has no limit, so a client loads one at a time. */
export const CONVERSATION_BYTES = MAX_CLIENT_BYTES;

/** Limits the bytes that requests make this process load at the same time. A request above the limit waits for its turn. */
export interface LoadBudget {
  /** Waits until the bytes may be loaded; they are given back by disposal. Rejects with CANCELLED when the signal is aborted. */
  take(client: Pick<Principal, 'tenant' | 'client'>, bytes: number, signal: AbortSignal): Promise<Disposable>;
}

interface Waiting {
  client: string;
  bytes: number;
  start(): void;
}

export function createLoadBudget(): LoadBudget {
  const held = new Map<string, number>();
  const queue = new Set<Waiting>();
  let total = 0;

  function add(client: string, bytes: number): void {
    total += bytes;
    const sum = (held.get(client) ?? 0) + bytes;
    if (sum > 0) held.set(client, sum);
    else held.delete(client);
  }

  /** Starts the requests that fit, oldest first. A client at its limit does not hold up the others. */
  function startFitting(): void {
    for (const waiting of queue) {
      const { client, bytes } = waiting;
      if (total + bytes > MAX_BYTES || (held.get(client) ?? 0) + bytes > MAX_CLIENT_BYTES) continue;
      queue.delete(waiting);
      add(client, bytes);
      waiting.start();
    }
  }

  return {
    async take(principal, bytes, signal) {
      const client = `${principal.tenant} ${principal.client}`;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = { client, bytes, start: resolve };
      const leave = (): void => {
        if (queue.delete(waiting)) reject(new ServiceError('CANCELLED', 'The request was cancelled before its data were loaded.'));
      };
      queue.add(waiting);
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
      startFitting();
      await promise.finally(() => signal.removeEventListener('abort', leave));
      return {
        [Symbol.dispose]() {
          add(client, -bytes);
          startFitting();
        },
      };
    },
  };
}
