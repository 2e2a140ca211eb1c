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

export function createPendingWrites(write: WritePending): PendingWrites {
  const entries = new LRUCache<string, PendingWrite>({
    max: MAX_VALUES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value }) => Math.max(1, Buffer.byteLength(value ?? '')),
    ttl: MAX_TTL_MS,
  });
  let flushing = false;

  async function flushEntries(): Promise<void> {
    const names = entries.rkeys().toArray(); // oldest first; entries change during the loop
    for (const name of names) {
      const entry = entries.peek(name);
      if (entry === undefined) continue;
      if (!(await write(name, entry.value, Math.ceil(entries.getRemainingTTL(name))))) return;
      if (entries.peek(name) === entry) entries.delete(name);
    }
  }

  return {
    get: (name) => entries.get(name),
    add: (name, value, ttlMs) => void entries.set(name, { value }, { ttl: ttlMs }),
    remove: (name) => void entries.delete(name),
    flush() {
      if (flushing || entries.size === 0) return;
      flushing = true;
      void flushEntries().finally(() => (flushing = false));
    },
  };
}
