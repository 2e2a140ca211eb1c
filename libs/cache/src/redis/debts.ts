import { createExpiringMap } from '../expiring-map.ts';
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
  const sizeOf = ({ value }: Owed): number => (value === null ? 0 : Buffer.byteLength(value));
  const owed = createExpiringMap<Owed>({ maxEntries: MAX_VALUES, maxBytes: MAX_BYTES, sizeOf });
  let settling = false;

  async function settle(): Promise<void> {
    for (const name of owed.names()) {
      const debt = owed.get(name);
      if (debt === undefined) continue;
      if (!(await pay(name, debt.value, owed.leftMs(name)))) return;
      if (owed.get(name) === debt) owed.delete(name);
    }
  }

  return {
    get: (name) => owed.get(name),
    owe: (name, value, ttlMs) => owed.set(name, { value }, ttlMs),
    forget: (name) => owed.delete(name),
    settle() {
      if (settling || owed.size === 0) return;
      settling = true;
      void settle().finally(() => (settling = false));
    },
  };
}
