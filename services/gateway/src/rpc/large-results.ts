import { collectLarge, type LargeAnswer } from '@switchyard/bus';

/** So many are held whole at once, each as large as a message of the bus may be; the others wait for their turn, in order. */
const AT_ONCE = 8;

/** An answer whose beginning is there: from here on it can be written, or breaks off. */
export interface PiecedAnswer {
  /** In bytes, all of it. */
  readonly length: number;
  /** Read as they are asked for; leaving them lets go of the rest. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** For who does not read them after all. */
  leave(): void;
}

/** Puts an envelope around a result that comes in pieces. Fails while that can still be told: before the first of them is there. */
export async function openPieces(large: LargeAnswer, [head, tail]: readonly [Buffer, Buffer], signal: AbortSignal): Promise<PiecedAnswer> {
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
  return { length, pieces: pieces(), leave: () => void source.return?.() };
}

/** Fetches answers whole, for who cannot give them away in pieces. */
export type Collect = (what: string, large: LargeAnswer, signal: AbortSignal) => Promise<Uint8Array>;

export function createCollect(maximum: number): Collect {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (what, large, signal) => {
    if (running >= AT_ONCE) await new Promise<void>((resolve) => void waiting.push(resolve));
    else running++;
    try {
      return await collectLarge(what, large, maximum, signal);
    } finally {
      const next = waiting.shift(); // whose place it is now
      if (next) next();
      else running--;
    }
  };
}
