/** Median and range of several rounds. */
export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** The quantile of the values, interpolated linearly between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('no values');
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

export function summarize(values: readonly number[]): Summary {
  return { median: quantile(values, 0.5), min: quantile(values, 0), max: quantile(values, 1) };
}

/** Ratios by round, because both sides of a round ran under the same conditions. */
export function pairedRatios(ours: readonly number[], theirs: readonly number[]): number[] {
  return paired(ours, theirs).map(([mine, other]) => mine / other);
}

export function pairedDifferences(ours: readonly number[], theirs: readonly number[]): number[] {
  return paired(ours, theirs).map(([mine, other]) => mine - other);
}

function paired(ours: readonly number[], theirs: readonly number[]): [number, number][] {
  if (ours.length !== theirs.length) throw new RangeError('each round needs both sides');
  return ours.map((value, round) => [value, theirs[round] as number]);
}

export interface Target {
  least?: number;
  most?: number;
}

export function reaches(value: number, { least, most }: Target): boolean {
  return (least === undefined || value >= least) && (most === undefined || value <= most);
}
