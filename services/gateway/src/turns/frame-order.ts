import type { TurnFrame } from '@switchyard/contracts';

/** Puts the frames of a turn in order: each number once, whatever comes late or twice. */
export interface FrameOrder {
  add(frame: TurnFrame): void;
  /** Takes the frames that are next, as many as there are. */
  take(): TurnFrame[];
  /**
   * Goes on from what the turn's document has kept, where frames are lost: what was said, and the frame that comes after. False
   * where frames would still be missing between that and those that wait.
   */
  skipTo(soFar: StoredProgress): boolean;
  /** The number that is awaited. */
  readonly next: number;
  /** Frames that came before one that is missing. */
  readonly waiting: number;
}

export interface StoredProgress {
  text: string;
  frame: number;
  fence: number;
}

/** A further run of a turn begins with `resumed`, under a higher fence and with a higher number; what the run before said then is dropped. */
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
      // The first frame is said by whoever accepted the turn, under no lease.
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
    skipTo({ text, frame, fence: said }) {
      const first = Math.min(...frames.keys());
      if (frame <= next || frame < first) return false;
      continueFrom({ n: frame - 1, fence: said, type: 'resumed', text });
      return true;
    },
    get next() {
      return next;
    },
    get waiting() {
      return frames.size;
    },
  };
}
