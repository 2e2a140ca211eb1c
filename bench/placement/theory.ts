/** The mean wait of a queue in front of `servers` equal servers, for arrivals and work without memory (Erlang's C formula). */
export function erlangWait({ servers, load, meanMs }: { servers: number; load: number; meanMs: number }): number {
  const offered = load * servers;
  // Erlang's B by its recursion, which does not overflow as the factorials would.
  let blocked = 1;
  for (let n = 1; n <= servers; n++) blocked = (offered * blocked) / (n + offered * blocked);
  const waits = blocked / (1 - load * (1 - blocked));
  return (waits * meanMs) / (servers * (1 - load));
}

/**
 * What each gets of a capacity that is too small for all: nobody gets more than it asks for, and what some leave is shared evenly by
 * the others (max-min fairness).
 */
export function fairShares(demands: readonly number[], capacity: number): number[] {
  const shares = demands.map(() => 0);
  const smallestFirst = demands.map((demand, index) => ({ demand, index })).sort((a, b) => a.demand - b.demand);
  let left = capacity;
  for (const [served, { demand, index }] of smallestFirst.entries()) {
    const share = Math.min(demand, left / (demands.length - served));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/**
 * How long the first in a line waits where `lines` lines are served in turn, one of each round: by the mean, and by the share of waits
 * that are shorter. Replicas keep their turns each for itself, so the line is met at random moments, once a round on average.
 */
export function turnWait({ lines, startsPerMs }: { lines: number; startsPerMs: number }, share?: number): number {
  const round = lines / startsPerMs;
  return share === undefined ? round : -Math.log(1 - share) * round;
}
