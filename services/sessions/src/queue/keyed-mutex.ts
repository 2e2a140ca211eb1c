/** Runs tasks with the same key sequentially. A failed task does not block the next one. */
export function createKeyedMutex(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const current = tails.get(key)?.then(work, work) ?? work();
    tails.set(key, current);
    const forget = (): void => {
      if (tails.get(key) === current) tails.delete(key);
    };
    current.then(forget, forget);
    return current;
  };
}
