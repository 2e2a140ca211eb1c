/** What touches one document, in the order it was asked for. */
export interface Lanes {
  /** Begins once all that was asked for before on this document has ended, however it did. */
  run<T>(document: string, work: () => Promise<T>): Promise<T>;
}

export function createLanes(): Lanes {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(document, work) {
      const before = tails.get(document);
      const mine = before === undefined ? work() : before.then(work, work);
      tails.set(document, mine);
      const leave = (): void => {
        if (tails.get(document) === mine) tails.delete(document);
      };
      mine.then(leave, leave);
      return mine;
    },
  };
}
