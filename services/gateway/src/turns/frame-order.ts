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
  jump(soFar: SoFar): boolean;
  /** The number that is awaited. */
  readonly next: number;
  /** Frames that came before one that is missing. */
  readonly waiting: number;
}

export interface SoFar {
  text: string;
  frame: number;
  fence: number;
}

/** A further run of a turn begins with `resumed`, under a higher fence and with a higher number; what the run before said then is dropped. */
export function createFrameOrder(): FrameOrder {
  const held = new Map<number, TurnFrame>();
  let next = 0;
  let fence = 0;

  function goOnFrom(frame: TurnFrame): void {
    for (const n of held.keys()) if (n < frame.n) held.delete(n);
    held.set(frame.n, frame);
    next = frame.n;
  }

  return {
    add(frame) {
      // The first frame is said by whoever accepted the turn, under no lease.
      if (frame.fence !== undefined && frame.fence < fence) return;
      if (frame.n < next) return;
      if (frame.type === 'resumed') {
        fence = frame.fence ?? fence;
        goOnFrom(frame);
      } else held.set(frame.n, frame);
    },
    take() {
      const ready: TurnFrame[] = [];
      for (let frame = held.get(next); frame !== undefined; frame = held.get(next)) {
        held.delete(next++);
        ready.push(frame);
      }
      return ready;
    },
    jump({ text, frame, fence: said }) {
      const first = Math.min(...held.keys());
      if (frame <= next || frame < first) return false;
      goOnFrom({ n: frame - 1, fence: said, type: 'resumed', text });
      return true;
    },
    get next() {
      return next;
    },
    get waiting() {
      return held.size;
    },
  };
}
