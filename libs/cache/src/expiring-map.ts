/** Entries that end by themselves, bounded: who is new makes room by the entry that was written longest ago. */
export interface ExpiringMap<T> {
  get(name: string): T | undefined;
  set(name: string, entry: T, ttlMs: number): void;
  delete(name: string): void;
  /** What is left of an entry's time; 0 when it is not there. */
  leftMs(name: string): number;
  names(): string[];
  readonly size: number;
}

export interface ExpiringMapOptions<T> {
  maxEntries: number;
  maxBytes?: number;
  sizeOf?: (entry: T) => number;
  now?: () => number;
}

interface Slot<T> {
  entry: T;
  expiresAt: number;
  bytes: number;
}

/** Looked at with each write, so that what has expired goes without a timer and without a walk through everything. */
const LOOK_AT = 2;

export function createExpiringMap<T>(options: ExpiringMapOptions<T>): ExpiringMap<T> {
  const { maxEntries, maxBytes = Number.POSITIVE_INFINITY, sizeOf = () => 0, now = () => performance.now() } = options;
  const slots = new Map<string, Slot<T>>();
  let bytes = 0;

  function drop(name: string): void {
    bytes -= slots.get(name)?.bytes ?? 0;
    slots.delete(name);
  }

  function alive(name: string): Slot<T> | undefined {
    const slot = slots.get(name);
    if (slot === undefined || slot.expiresAt > now()) return slot;
    drop(name);
    return undefined;
  }

  function sweep(): void {
    let left = LOOK_AT;
    for (const name of slots.keys()) if (left-- === 0 || alive(name) !== undefined) break;
    for (const name of slots.keys()) {
      if (slots.size <= maxEntries && bytes <= maxBytes) break;
      drop(name);
    }
  }

  return {
    get: (name) => alive(name)?.entry,
    set(name, entry, ttlMs) {
      drop(name); // set again, it stands behind all others
      const slot = { entry, expiresAt: now() + ttlMs, bytes: sizeOf(entry) };
      slots.set(name, slot);
      bytes += slot.bytes;
      sweep();
    },
    delete: drop,
    leftMs: (name) => Math.ceil((alive(name)?.expiresAt ?? now()) - now()),
    names: () => [...slots.keys()],
    get size() {
      return slots.size;
    },
  };
}
