import { Worker } from 'node:worker_threads';

export interface Load extends Disposable {
  /** How many times longer than alone the same work took at worst, from the beginning on; 1 where nobody else was at work. */
  most(): number;
}

/** A loop beside the one that is tested: whatever keeps both waiting is the machine, and no fault of what is tested. */
export function watchLoad(): Load {
  const worst = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)).fill(1);
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), { workerData: { worst } });
  worker.unref();
  return {
    most: () => worst[0] ?? 1,
    [Symbol.dispose]: () => void worker.terminate(),
  };
}
