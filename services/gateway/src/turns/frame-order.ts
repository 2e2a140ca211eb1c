import type { TurnFrame } from '@switchyard/contracts';

/** Orders the frames of a turn and drops duplicates. */
export interface FrameOrder {
  add(frame: TurnFrame): void;
  /** Takes the consecutive frames that are available. */
  take(): TurnFrame[];
  /**
   * Continues from the stored text of the turn document when frames are lost. Returns false when frames would still be missing between
   * the stored text and the waiting frames.
   */
  skipTo(soFar: StoredProgress): boolean;
  /** The number of the next expected frame. */
  readonly next: number;
  /** The number of frames waiting for a missing one. */
  readonly bufferedCount: number;
}

export interface StoredProgress {
  text: string;
  frame: number;
  fence: number;
}

/** A resumed run of a turn begins with `resumed`, a higher fence and a higher number. Later frames of the previous run are dropped. */
export function createFrameOrder(): FrameOrder {
  const frames = new Map<number, TurnFrame>();
  let next = 0;
  let fence = 0;

  function continueFrom(frame: TurnFrame): void {
    for (const n of frames.keys()) if (n < frame.n) frames.delete(n);
    frames.set(frame.n, frame);
    next = frame.n;
  }

  return {
    add(frame) {
      // The first frame is sent on acceptance, before a lease exists, and has no fence.
      if (frame.fence !== undefined && frame.fence < fence) return;
      if (frame.n < next) return;
      if (frame.type === 'resumed') {
        fence = frame.fence ?? fence;
        continueFrom(frame);
      } else frames.set(frame.n, frame);
    },
    take() {
      const ready: TurnFrame[] = [];
      for (let frame = frames.get(next); frame !== undefined; frame = frames.get(next)) {
        frames.delete(next++);
        ready.push(frame);
      }
      return ready;
    },
    skipTo({ text, frame, fence: storedFence }) {
      const first = Math.min(...frames.keys());
      if (frame <= next || frame < first) return false;
      continueFrom({ n: frame - 1, fence: storedFence, type: 'resumed', text });
      return true;
    },
    get next() {
      return next;
    },
    get bufferedCount() {
      return frames.size;
    },
  };
}
