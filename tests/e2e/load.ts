import { Worker } from 'node:worker_threads';

export interface Load extends Disposable {
  /** The longest delay in milliseconds of a nearly idle event loop. */
  most(): number;
}

/** An event loop beside the tested one. Delays of both come from the machine. */
export function watchLoad(): Load {
  const worst = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const worker = new Worker(new URL('./load-worker.ts', import.meta.url), { workerData: { worst } });
  worker.unref();
  return {
    most: () => worst[0] ?? 0,
    [Symbol.dispose]: () => void worker.terminate(),
  };
}
