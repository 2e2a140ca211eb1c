const MIN_CAPACITY = 64;

/**
 * Table of items under ascending ids that are never reused. Not a Map: under thousands of insertions and deletions per second a Map keeps
 * allocating tables, and an old table that is not collected yet keeps the contents of its successors alive.
 */
export interface IdTable<T extends object> {
  /** Returns the id of the item, 1 or higher. */
  add(item: T): number;
  get(id: number): T | undefined;
  /** Returns the removed item. */
  remove(id: number): T | undefined;
  /** Removes and returns all items. */
  clear(): T[];
  readonly size: number;
}

/** Stores an item at the low bits of its id. Ids whose place is occupied are skipped. */
export function createIdTable<T extends object>(): IdTable<T> {
  let ids = emptyIds(MIN_CAPACITY);
  let items = emptyItems<T>(MIN_CAPACITY);
  let mask = MIN_CAPACITY - 1;
  let size = 0;
  let last = 0;

  /** Items with different places in a small table have different places in a larger one. */
  function grow(): void {
    const [oldIds, oldItems] = [ids, items];
    const length = oldIds.length * 2;
    mask = length - 1;
    ids = emptyIds(length);
    items = emptyItems<T>(length);
    for (const [at, id] of oldIds.entries()) {
      if (id === 0) continue;
      ids[id & mask] = id;
      items[id & mask] = oldItems[at];
    }
  }

  const get = (id: number): T | undefined => (ids[id & mask] === id ? items[id & mask] : undefined);

  return {
    get,
    add(item) {
      if (size * 2 >= ids.length) grow();
      do last++;
      while (ids[last & mask] !== 0);
      ids[last & mask] = last;
      items[last & mask] = item;
      size++;
      return last;
    },
    remove(id) {
      const item = get(id);
      if (item === undefined) return undefined;
      ids[id & mask] = 0;
      items[id & mask] = undefined;
      size--;
      return item;
    },
    clear() {
      const all = items.filter((_, at) => ids[at] !== 0) as T[];
      ids.fill(0);
      items.fill(undefined);
      size = 0;
      return all;
    },
    get size() {
      return size;
    },
  };
}

function emptyIds(length: number): number[] {
  return Array.from({ length }, () => 0);
}

function emptyItems<T>(length: number): (T | undefined)[] {
  return Array.from({ length }, () => undefined);
}
