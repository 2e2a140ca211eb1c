/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  below(n: number): number;
  /** Times between independent events of a steady rate have this distribution. */
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
