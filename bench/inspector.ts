import { once } from 'node:events';
import type { HeapProfiler, Profiler } from 'node:inspector';
import type { StartedProcess } from '@switchyard/testkit';
import { WebSocket } from 'ws';

const CPU_INTERVAL_US = 200;
const ALLOCATION_INTERVAL = 8_192;

/** Profiles a process that was started with `--inspect`. */
export interface Inspector extends Disposable {
  /** Takes a CPU profile while `work` runs. */
  time(work: () => Promise<void>): Promise<Profiler.Profile>;
  /** Takes an allocation profile while `work` runs, including objects that are garbage at its end. */
  allocations(work: () => Promise<void>): Promise<HeapProfiler.SamplingHeapProfile>;
}

export async function inspect(process: StartedProcess): Promise<Inspector> {
  const [, address = ''] = await process.line(/Debugger listening on (ws:\S+)/);
  const socket = new WebSocket(address);
  await once(socket, 'open');
  let requestCount = 0;

  /** A response of the inspector protocol. */
  async function sendRequest(method: string, params: object = {}): Promise<unknown> {
    const id = ++requestCount;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const read = (data: Buffer): void => {
      const answer = JSON.parse(data.toString()) as { id?: number; result?: unknown; error?: { message: string } };
      if (answer.id !== id) return;
      socket.off('message', read);
      if (answer.error) reject(new Error(`${method}: ${answer.error.message}`));
      else resolve(answer.result);
    };
    socket.on('message', read).send(JSON.stringify({ id, method, params }));
    return promise;
  }

  return {
    async time(work) {
      await sendRequest('Profiler.enable');
      await sendRequest('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_US });
      await sendRequest('Profiler.start');
      await work();
      return ((await sendRequest('Profiler.stop')) as Profiler.StopReturnType).profile;
    },
    async allocations(work) {
      const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
      await sendRequest('HeapProfiler.startSampling', { samplingInterval: ALLOCATION_INTERVAL, ...all });
      await work();
      return ((await sendRequest('HeapProfiler.stopSampling')) as HeapProfiler.StopSamplingReturnType).profile;
    },
    [Symbol.dispose]: () => socket.terminate(),
  };
}
