import { LRUCache } from 'lru-cache';
import { MAX_TTL_MS } from '../port/cache.ts';
import { MAX_BYTES, MAX_VALUES } from '../memory/memory-cache.ts';

/** Null for what was deleted. */
type Owed = { value: string | null };

/** What this replica set and deleted while the server was away: until it has heard of it, this is newer than what it keeps. */
export interface Debts {
  get(name: string): Owed | undefined;
  owe(name: string, value: string | null, ttlMs: number): void;
  /** The server has something newer. */
  forget(name: string): void;
  /** Tells the server, one after the other, until it fails; tried again with the next call. */
  settle(): void;
}

export type Pay = (name: string, value: string | null, ttlMs: number) => Promise<boolean>;

export function createDebts(pay: Pay): Debts {
  const owed = new LRUCache<string, Owed>({
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
    owe: (name, value, ttlMs) => void owed.set(name, { value }, { ttl: ttlMs }),
    forget: (name) => void owed.delete(name),
    settle() {
      if (settling || owed.size === 0) return;
      settling = true;
      void settle().finally(() => (settling = false));
    },
  };
}
