/** Queues by key. */
export interface WaitingLines<T> {
  /** Number of non-empty queues. */
  readonly lines: number;
  length(key: number): number;
  push(key: number, item: T): void;
  /** Removes the head of the queue with the lowest rank among those whose head passes `may`. */
  take(rank: (key: number) => number, may: (first: T) => boolean): { key: number; item: T } | undefined;
}

export function createWaitingLines<T>(): WaitingLines<T> {
  const lines = new Map<number, T[]>();

  return {
    get lines() {
      return lines.size;
    },
    length: (key) => lines.get(key)?.length ?? 0,
    push(key, item) {
      const line = lines.get(key);
      if (line === undefined) lines.set(key, [item]);
      else line.push(item);
    },
    take(rank, may) {
      let next: number | undefined;
      for (const [key, [first]] of lines) if ((next === undefined || rank(key) < rank(next)) && may(first as T)) next = key;
      if (next === undefined) return undefined;
      const line = lines.get(next)!;
      const item = line.shift()!;
      if (line.length === 0) lines.delete(next);
      return { key: next, item };
    },
  };
}
