import { Worker } from 'node:worker_threads';

export interface Load extends Disposable {
  /** For how many milliseconds a loop that is hardly busy was kept from its work at worst, from the beginning on. */
  most(): number;
}

/** A loop beside the one that is tested: whatever keeps both waiting is the machine, and no fault of what is tested. */
export function watchLoad(): Load {
  const worst = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), { workerData: { worst } });
  worker.unref();
  return {
    most: () => worst[0] ?? 0,
    [Symbol.dispose]: () => void worker.terminate(),
  };
}
