/** Lines per second that are written immediately. Above this limit, entries of one kind are grouped into a line within a second. */
const MAX_IMMEDIATE_LINES = 20;
const PERIOD_MS = 1_000;
/** Maximum number of ids in one line. */
const MAX_IDS_PER_LINE = 100;
/** Maximum number of open groups. */
const MAX_GROUPS = 100;

/** Entries that share one line: the first entry, all ids and the number of entries. */
export interface LogGroup<T> {
  first: T;
  ids: ReadonlySet<string>;
  count: number;
}

/** Throttles log lines: writes few entries one by one and groups many by kind. No id is lost. */
export interface LogThrottle<T> extends Disposable {
  log(entry: T, id: string): void;
}

export interface LogThrottleOptions<T> {
  /** Returns the group key of an entry. */
  getKind: (entry: T) => string;
  write: (group: LogGroup<T>) => void;
}

interface Group<T> extends LogGroup<T> {
  ids: Set<string>;
}

export function createLogThrottle<T>({ getKind, write }: LogThrottleOptions<T>): LogThrottle<T> {
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
    return ++written > MAX_IMMEDIATE_LINES;
  }

  function addToGroup(entry: T, id: string): void {
    const kind = getKind(entry);
    const group = groups.get(kind) ?? { first: entry, ids: new Set(), count: 0 };
    group.ids.add(id);
    group.count++;
    groups.set(kind, group);
    if (group.ids.size >= MAX_IDS_PER_LINE) {
      groups.delete(kind);
      write(group);
    } else if (groups.size > MAX_GROUPS) flush();
    else timer ??= setTimeout(flush, PERIOD_MS).unref();
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const openGroups = [...groups.values()];
    groups.clear();
    for (const group of openGroups) write(group);
  }

  return {
    log(entry, id) {
      if (isBusy()) addToGroup(entry, id);
      else write({ first: entry, ids: new Set([id]), count: 1 });
    },
    [Symbol.dispose]: flush,
  };
}
