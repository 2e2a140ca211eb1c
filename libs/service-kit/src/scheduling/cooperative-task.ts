import { setImmediate } from 'node:timers/promises';

/** Runs a generator to its end and yields to the event loop between its steps, so that long work does not block other requests. */
export async function inSteps<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await setImmediate();
  }
}
