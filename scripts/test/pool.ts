/** Runs tasks in order, as many at once as there are slots. A task may need several slots. */
export async function runInSlots<T>(tasks: readonly T[], slots: number, options: SlotOptions<T>): Promise<void> {
  const waiting = [...tasks];
  const running = new Set<Promise<void>>();
  let free = slots;
  while (waiting.length > 0 || running.size > 0) {
    const at = waiting.findIndex((task) => Math.min(options.getSlots(task), slots) <= free);
    const [task] = at < 0 ? [] : waiting.splice(at, 1);
    if (task === undefined) {
      await Promise.race(running);
      continue;
    }
    const takenCount = Math.min(options.getSlots(task), slots);
    free -= takenCount;
    const run = options.run(task).finally(() => {
      free += takenCount;
      running.delete(run);
    });
    running.add(run);
  }
}

export interface SlotOptions<T> {
  getSlots: (task: T) => number;
  run: (task: T) => Promise<void>;
}
