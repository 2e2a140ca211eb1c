/** Passes text up to a stop sequence. Text that may start a stop sequence is held back. */
export interface Stopper {
  /** Adds text and returns the part that can be sent. */
  add(text: string): string;
  /** Returns the held text at the end. */
  rest(): string;
  readonly stopped: boolean;
}

export function createStopper(stops: readonly string[]): Stopper {
  const longest = Math.max(1, ...stops.map(({ length }) => length));
  let held = '';
  let stopped = false;

  function release(length: number): string {
    const text = held.slice(0, length);
    held = held.slice(length);
    return text;
  }

  return {
    add(text) {
      held += text;
      const matches = stops.map((stop) => held.indexOf(stop)).filter((at) => at !== -1);
      stopped = matches.length > 0;
      if (!stopped) return release(Math.max(0, held.length - longest + 1));
      const released = release(Math.min(...matches));
      held = '';
      return released;
    },
    rest: () => release(held.length),
    get stopped() {
      return stopped;
    },
  };
}
