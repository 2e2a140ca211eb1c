import { LRUCache } from 'lru-cache';
import { MAX_TTL_MS } from '../port/cache.ts';
import { MAX_BYTES, MAX_VALUES } from '../memory/memory-cache.ts';

/** `null` for a deletion. */
type PendingWrite = { value: string | null };

/** Writes and deletions made while the server was unreachable. Until they are written, they override the server's values. */
export interface PendingWrites {
  get(name: string): PendingWrite | undefined;
  add(name: string, value: string | null, ttlMs: number): void;
  /** The server has a newer value. */
  remove(name: string): void;
  /** Writes the entries in order until one fails. The next call continues. */
  flush(): void;
}

export type WritePending = (name: string, value: string | null, ttlMs: number) => Promise<boolean>;

export function createPendingWrites(pay: WritePending): PendingWrites {
  const owed = new LRUCache<string, PendingWrite>({
    max: MAX_VALUES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value }) => Math.max(1, Buffer.byteLength(value ?? '')),
    ttl: MAX_TTL_MS,
  });
  let settling = false;

  async function settle(): Promise<void> {
    const names = owed.rkeys().toArray(); // oldest first; entries change during the loop
    for (const name of names) {
      const debt = owed.peek(name);
      if (debt === undefined) continue;
      if (!(await pay(name, debt.value, Math.ceil(owed.getRemainingTTL(name))))) return;
      if (owed.peek(name) === debt) owed.delete(name);
    }
  }

  return {
    get: (name) => owed.get(name),
    add: (name, value, ttlMs) => void owed.set(name, { value }, { ttl: ttlMs }),
    remove: (name) => void owed.delete(name),
    flush() {
      if (settling || owed.size === 0) return;
      settling = true;
      void settle().finally(() => (settling = false));
    },
  };
}
