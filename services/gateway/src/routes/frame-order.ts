import type { TurnFrame } from '@switchyard/contracts';

/** Puts the frames of a turn in order: each number once, whatever comes late or twice. */
export interface FrameOrder {
  add(frame: TurnFrame): void;
  /** Takes the frames that are next, as many as there are. */
  take(): TurnFrame[];
  /** The number that is awaited. */
  readonly next: number;
  /** Frames that came before one that is missing. */
  readonly waiting: number;
}

export function createFrameOrder(): FrameOrder {
  const held = new Map<number, TurnFrame>();
  let next = 0;
  return {
    add(frame) {
      if (frame.n >= next) held.set(frame.n, frame);
    },
    take() {
      const ready: TurnFrame[] = [];
      for (let frame = held.get(next); frame !== undefined; frame = held.get(next)) {
        held.delete(next++);
        ready.push(frame);
      }
      return ready;
    },
    get next() {
      return next;
    },
    get waiting() {
      return held.size;
    },
  };
}
