/** Work on one key begins when what was asked for before on the same key is over, however that ended. */
export function oneAfterAnother(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const now = last.get(key)?.then(work, work) ?? work();
    last.set(key, now);
    const forget = (): void => {
      if (last.get(key) === now) last.delete(key);
    };
    now.then(forget, forget);
    return now;
  };
}
