/** Of calls that come while the work runs, one more run serves all. */
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
