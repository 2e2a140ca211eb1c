/** So many lines a second are written as they come. Beyond, those of one kind share a line, which is written within a second. */
const AT_ONCE = 20;
const PERIOD_MS = 1_000;
/** Ids in one line: no more of a list are written. */
const TOGETHER = 100;
/** Kinds that wait for company. */
const KINDS = 100;

/** What is written as one line: the first of a kind, the ids of all of them, and how many there were. */
export interface Together<T> {
  first: T;
  ids: ReadonlySet<string>;
  count: number;
}

/** Writes what may come in floods: each by itself while there are few, else together with others of its kind, and always with its id. */
export interface Flood<T> extends Disposable {
  note(one: T, id: string): void;
}

export interface FloodOptions<T> {
  /** What is the same of those that share a line. */
  kindOf: (one: T) => string;
  write: (together: Together<T>) => void;
}

interface Group<T> extends Together<T> {
  ids: Set<string>;
}

export function createFlood<T>({ kindOf, write }: FloodOptions<T>): Flood<T> {
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
