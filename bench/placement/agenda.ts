/** A queue of simulated events by time. Events of the same time keep their insertion order. */
export interface Agenda<T> {
  add(at: number, what: T): void;
  next(): { at: number; what: T } | undefined;
}

interface Entry<T> {
  at: number;
  order: number;
  what: T;
}

export function createAgenda<T>(): Agenda<T> {
  const heap: Entry<T>[] = [];
  let order = 0;

  const before = (a: number, b: number): boolean => {
    const [one, other] = [heap[a]!, heap[b]!];
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  };

  function swap(a: number, b: number): void {
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  }

  function rise(index: number): void {
    for (let at = index; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!before(at, parent)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function sink(): void {
    for (let at = 0; ;) {
      const [remaining, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (remaining < heap.length && before(remaining, first)) first = remaining;
      if (right < heap.length && before(right, first)) first = right;
      if (first === at) return;
      swap(at, first);
      at = first;
    }
  }

  return {
    add(at, what) {
      heap.push({ at, order: order++, what });
      rise(heap.length - 1);
    },
    next() {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (heap.length > 0) {
        heap[0] = last;
        sink();
      }
      return { at: first.at, what: first.what };
    },
  };
}
