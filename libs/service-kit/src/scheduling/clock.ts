/** Time as the work of a service sees it: the machine's own, or one that a test drives. */
export interface Clock {
  /** Milliseconds that passed since some moment, whatever the time of day is set to. For spans, never for instants. */
  now(): number;
  /** Runs the work once, after a while. Keeps no process alive. What it returns stops it. */
  after(ms: number, work: () => void): () => void;
  /** Runs the work once what is going on now is done. */
  soon(work: () => void): void;
  /** Runs the work again and again. What it returns stops it. */
  every(ms: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
  soon: (work) => void setImmediate(work),
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Resolves after a while. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
