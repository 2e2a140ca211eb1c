/** Coalesces calls made during a run into a single follow-up run. */
export function onceAtATime(work: () => Promise<void>): () => Promise<void> {
  let now: Promise<void> | undefined;
  let after: Promise<void> | undefined;
  const start = (): Promise<void> => {
    now = work().finally(() => (now = undefined));
    return now;
  };
  return () => {
    if (!now) return start();
    after ??= now
      .catch(() => undefined)
      .then(() => {
        after = undefined;
        return start();
      });
    return after;
  };
}
