import { setImmediate } from 'node:timers/promises';

/** Runs to the end, and lets everybody else go on between the steps: what takes long is no reason to keep others waiting. */
export async function inSteps<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await setImmediate();
  }
}
