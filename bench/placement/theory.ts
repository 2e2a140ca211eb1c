/** The mean wait of a queue in front of `servers` equal servers, for arrivals and work without memory (Erlang's C formula). */
export function erlangWait({ servers, load, meanMs }: { servers: number; load: number; meanMs: number }): number {
  const offered = load * servers;
  // The recursion of Erlang B does not overflow, unlike its factorials.
  let blocked = 1;
  for (let n = 1; n <= servers; n++) blocked = (offered * blocked) / (n + offered * blocked);
  const waits = blocked / (1 - load * (1 - blocked));
  return (waits * meanMs) / (servers * (1 - load));
}

/**
 * Max-min fair shares of a capacity: no tenant gets more than its demand, and unused shares are split evenly among the others.
 */
export function fairShares(demands: readonly number[], capacity: number): number[] {
  const shares = demands.map(() => 0);
  const smallestFirst = demands.map((demand, index) => ({ demand, index })).sort((a, b) => a.demand - b.demand);
  let remaining = capacity;
  for (const [served, { demand, index }] of smallestFirst.entries()) {
    const share = Math.min(demand, remaining / (demands.length - served));
    shares[index] = share;
    remaining -= share;
  }
  return shares;
}

/**
 * Wait of the first turn of a tenant when `lines` tenants are served round-robin: the mean, or the quantile `share`. Replicas keep
 * independent orders, so a tenant is visited at random times, once per round on average.
 */
export function turnWait({ lines, startsPerMs }: { lines: number; startsPerMs: number }, share?: number): number {
  const round = lines / startsPerMs;
  return share === undefined ? round : -Math.log(1 - share) * round;
}
