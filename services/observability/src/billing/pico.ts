const PICO = 1_000_000_000_000;

/** Converts US dollars to an integer of 10⁻¹² USD, so that sums are exact whatever their order. */
export function toPico(usd: number): bigint {
  return BigInt(Math.round(usd * PICO));
}

export function toUsd(pico: bigint): number {
  return Number(pico) / PICO;
}
