/** Time source of a service: the system clock, or a simulated clock in tests. */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary moment. Use it for durations only, not for timestamps. */
  now(): number;
  /** Runs the work once after `ms`. Does not keep the process alive. Returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** Runs the work in the next turn of the event loop. */
  soon(work: () => void): void;
  /** Runs the work every `ms`. Returns a function that stops it. */
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

/** Resolves after `ms`. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
