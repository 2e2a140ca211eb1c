/** Runs tasks with the same key sequentially. A failed task does not block the next one. */
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
