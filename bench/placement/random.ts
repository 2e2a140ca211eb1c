/** A seeded pseudo-random number generator. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  below(n: number): number;
  /** Exponentially distributed with the given mean, like the time between independent events. */
  exponential(mean: number): number;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  return { next, below: (n) => Math.floor(next() * n), exponential: (mean) => -Math.log(1 - next()) * mean };
}
