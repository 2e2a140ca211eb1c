export interface GatherOptions {
  /** Puts off what is handed on: `setImmediate` to the end of this turn of the event loop, `process.nextTick` to the end of this callback. */
  defer: (handOn: () => void) => void;
  /** Nobody waits for more than so many others. */
  most: number;
}

/** What the edge answers alone comes one by one, as requests are read: it is written at the end of the turn. */
export const HERE: GatherOptions = { defer: setImmediate, most: 64 };
/** What comes over the bus comes together: it is written when its messages are read, and in parts, so that clients go on meanwhile. */
export const FORWARDED: GatherOptions = { defer: (handOn) => process.nextTick(handOn), most: 8 };

/**
 * Hands on together, in its order, what is given to it one by one. Writes to many sockets one right after another cost about half
 * of what they cost with work between them: whoever reads them is woken once, not for each.
 */
export function gather<T>({ defer, most }: GatherOptions, handOn: (item: T) => void): (item: T) => void {
  let waiting: T[] = [];

  function release(): void {
    const items = waiting;
    waiting = [];
    for (const item of items) handOn(item);
  }

  return (item) => {
    const count = waiting.push(item);
    if (count === 1) defer(release);
    else if (count >= most) release();
  };
}
