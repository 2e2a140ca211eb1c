import { checkKey } from '../wire/validation.ts';
import type { BucketEntry } from '../wire/transport.ts';

/** Maximum delay of Node's timers. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Entries with revisions, shared by all connections of a hub. */
export interface MemoryBucket {
  get(key: string): BucketEntry | undefined;
  entries(): BucketEntry[];
  put(key: string, value: Uint8Array): number;
  /** Writes if the key has this revision (0: the key does not exist). Returns undefined otherwise. */
  update(key: string, value: Uint8Array, revision: number): number | undefined;
  remove(key: string): number;
  watch(onEntry: (entry: BucketEntry) => void): () => void;
}

interface StoredValue {
  value: Uint8Array;
  revision: number;
  expiresAt: number;
}

export function createMemoryBucket(ttlMs = Infinity): MemoryBucket {
  const values = new Map<string, StoredValue>();
  const watchers = new Set<(entry: BucketEntry) => void>();
  let lastRevision = 0;
  let timer: NodeJS.Timeout | undefined;

  function change(key: string, value: Uint8Array | undefined): number {
    checkKey(key);
    const revision = ++lastRevision;
    values.delete(key);
    if (value !== undefined) {
      values.set(key, { value, revision, expiresAt: Date.now() + ttlMs });
      if (ttlMs !== Infinity) timer ??= setTimeout(expire, Math.min(ttlMs, MAX_DELAY_MS)).unref();
    }
    for (const watcher of watchers) watcher({ key, value, revision });
    return revision;
  }

  /** All entries have the same TTL and a write moves an entry to the end, so the first entry always expires next. */
  function expire(): void {
    timer = undefined;
    for (const [key, { expiresAt }] of values) {
      const remaining = expiresAt - Date.now();
      if (remaining <= 0) {
        change(key, undefined);
        continue;
      }
      timer = setTimeout(expire, Math.min(remaining, MAX_DELAY_MS)).unref();
      return;
    }
  }

  return {
    get(key) {
      checkKey(key);
      const found = values.get(key);
      return found === undefined || found.expiresAt <= Date.now() ? undefined : { key, value: found.value, revision: found.revision };
    },
    entries: () => [...values].map(([key, { value, revision }]) => ({ key, value, revision })),
    put: (key, value) => change(key, new Uint8Array(value)),
    update: (key, value, revision) => ((values.get(key)?.revision ?? 0) === revision ? change(key, new Uint8Array(value)) : undefined),
    remove: (key) => change(key, undefined),
    watch(onEntry) {
      watchers.add(onEntry);
      return () => void watchers.delete(onEntry);
    },
  };
}
