/** Work on one key begins when what was asked for before on the same key is over, however that ended. */
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
