import { collectLarge, type LargeAnswer } from '@switchyard/bus';

/** Large results buffered at once, each up to the maximum payload of the bus. Further results wait in order. */
const MAX_CONCURRENT_RESULTS = 8;

/** A large result whose first chunk has arrived. */
export interface StreamedResult {
  /** Total bytes. */
  readonly length: number;
  /** Fetched on demand. Ending the iteration releases the rest. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Releases the result without reading it. */
  cancel(): void;
}

/** Wraps a large result in its envelope. Fails before the first chunk arrives, while an error response is still possible. */
export async function openStreamedResult(
  large: LargeAnswer,
  [head, tail]: readonly [Buffer, Buffer],
  signal: AbortSignal,
): Promise<StreamedResult> {
  const source = large.chunks(signal)[Symbol.asyncIterator]();
  const first = await source.next();
  async function* pieces(): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield head;
      for (let step = first; step.done !== true; step = await source.next()) yield step.value;
      yield tail;
    } finally {
      await source.return?.();
    }
  }
  const length = head.length + large.size + tail.length;
  return { length, pieces: pieces(), cancel: () => void source.return?.() };
}

/** Buffers a large result, for transports that cannot stream. */
export type CollectLargeResult = (name: string, large: LargeAnswer, signal: AbortSignal) => Promise<Uint8Array>;

export function createLargeResultCollector(maximum: number): CollectLargeResult {
  const waiters: (() => void)[] = [];
  let runningCount = 0;

  return async (name, large, signal) => {
    if (runningCount >= MAX_CONCURRENT_RESULTS) await new Promise<void>((resolve) => void waiters.push(resolve));
    else runningCount++;
    try {
      return await collectLarge(name, large, maximum, signal);
    } finally {
      const next = waiters.shift(); // takes over the slot
      if (next) next();
      else runningCount--;
    }
  };
}
