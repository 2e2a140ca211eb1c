/** Lets text through up to where a stop text begins. What might be the beginning of one is held back until that is known. */
export interface Stopper {
  /** What may be said of the text so far. */
  add(text: string): string;
  /** What was held back, once nothing follows. */
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
      const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at !== -1);
      stopped = found.length > 0;
      if (!stopped) return release(Math.max(0, held.length - longest + 1));
      const said = release(Math.min(...found));
      held = '';
      return said;
    },
    rest: () => release(held.length),
    get stopped() {
      return stopped;
    },
  };
}
