/** What touches one document, in the order it was asked for. */
export interface KeyedMutex {
  /** Begins once all that was asked for before on this document has ended, however it did. */
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
