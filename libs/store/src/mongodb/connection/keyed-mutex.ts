/** Runs tasks with the same key sequentially. */
export interface KeyedMutex {
  /** Starts when all earlier tasks of this document have settled. */
  run<T>(document: string, work: () => Promise<T>): Promise<T>;
}

export function createKeyedMutex(): KeyedMutex {
  const lastTasks = new Map<string, Promise<unknown>>();
  return {
    run(document, work) {
      const before = lastTasks.get(document);
      const mine = before === undefined ? work() : before.then(work, work);
      lastTasks.set(document, mine);
      const leave = (): void => {
        if (lastTasks.get(document) === mine) lastTasks.delete(document);
      };
      mine.then(leave, leave);
      return mine;
    },
  };
}
