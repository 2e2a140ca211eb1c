const AGAIN_MS = 60_000;
/** Beyond this many different things everything is said anew; there are a few dozen. */
const MOST = 1_000;

/** What is tried again four times a second must not fill the log when it fails: each thing is said at once, and again once a minute. */
export interface Seldom {
  say(what: string, write: () => void): void;
  /** Whatever is said next is new. */
  forget(): void;
}

export function createSeldom(now: () => number = () => performance.now()): Seldom {
  const said = new Map<string, number>();
  return {
    say(what, write) {
      const last = said.get(what);
      if (last !== undefined && now() - last < AGAIN_MS) return;
      if (said.size >= MOST) said.clear();
      said.set(what, now());
      write();
    },
    forget: () => said.clear(),
  };
}
