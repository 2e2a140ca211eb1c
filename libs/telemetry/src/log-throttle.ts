/** Lines per second that are written at once. Above this limit, entries of one kind are grouped into a line within a second. */
const AT_ONCE = 20;
const PERIOD_MS = 1_000;
/** Maximum number of ids in one line. */
const TOGETHER = 100;
/** Maximum number of open groups. */
const KINDS = 100;

/** Entries that share one line: the first entry, all ids and the number of entries. */
export interface Together<T> {
  first: T;
  ids: ReadonlySet<string>;
  count: number;
}

/** Throttles log lines: writes few entries one by one and groups many by kind. No id is lost. */
export interface LogThrottle<T> extends Disposable {
  note(one: T, id: string): void;
}

export interface FloodOptions<T> {
  /** Returns the group key of an entry. */
  getKind: (one: T) => string;
  write: (together: Together<T>) => void;
}

interface Group<T> extends Together<T> {
  ids: Set<string>;
}

export function createFlood<T>({ getKind: kindOf, write }: FloodOptions<T>): LogThrottle<T> {
  const groups = new Map<string, Group<T>>();
  let period = 0;
  let written = 0;
  let timer: NodeJS.Timeout | undefined;

  function isBusy(): boolean {
    const now = Math.floor(performance.now() / PERIOD_MS);
    if (now !== period) {
      period = now;
      written = 0;
    }
    return ++written > AT_ONCE;
  }

  function gather(one: T, id: string): void {
    const kind = kindOf(one);
    const group = groups.get(kind) ?? { first: one, ids: new Set(), count: 0 };
    group.ids.add(id);
    group.count++;
    groups.set(kind, group);
    if (group.ids.size >= TOGETHER) {
      groups.delete(kind);
      write(group);
    } else if (groups.size > KINDS) flush();
    else timer ??= setTimeout(flush, PERIOD_MS).unref();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const waiting = [...groups.values()];
    groups.clear();
    for (const group of waiting) write(group);
  }

  return {
    note(one, id) {
      if (isBusy()) gather(one, id);
      else write({ first: one, ids: new Set([id]), count: 1 });
    },
    [Symbol.dispose]: flush,
  };
}
