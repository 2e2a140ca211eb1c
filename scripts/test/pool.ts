/** Runs tasks in order, as many at once as there are slots. A task may need several slots. */
export async function runInSlots<T>(tasks: readonly T[], slots: number, options: SlotOptions<T>): Promise<void> {
  const waiting = [...tasks];
  const running = new Set<Promise<void>>();
  let free = slots;
  while (waiting.length > 0 || running.size > 0) {
    const at = waiting.findIndex((task) => Math.min(options.slotsOf(task), slots) <= free);
    const [task] = at < 0 ? [] : waiting.splice(at, 1);
    if (task === undefined) {
      await Promise.race(running);
      continue;
    }
    const taken = Math.min(options.slotsOf(task), slots);
    free -= taken;
    const run = options.run(task).finally(() => {
      free += taken;
      running.delete(run);
    });
    running.add(run);
  }
}

export interface SlotOptions<T> {
  slotsOf: (task: T) => number;
  run: (task: T) => Promise<void>;
}
