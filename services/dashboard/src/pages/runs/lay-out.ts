/** A bar as percentages of the time of all steps. */
export interface Bar {
  start: number;
  size: number;
}

const MIN_PERCENT = 0.5;

/** Lays out the steps on one time axis. A step without a start begins where the one before it ended. */
export function layOut(steps: readonly { at?: number | undefined; ms: number }[]): Bar[] {
  let end = 0;
  const spans = steps.map(({ at, ms }) => {
    const start = at ?? end;
    end = start + ms;
    return { start, ms };
  });
  const total = Math.max(1, ...spans.map(({ start, ms }) => start + ms));
  return spans.map(({ start, ms }) => {
    const size = Math.max(MIN_PERCENT, (ms / total) * 100);
    return { start: Math.min(100 - size, (start / total) * 100), size };
  });
}
