export const HOUR_MS = 3_600_000;

/** Returns the id of the hour of an instant. */
export function toHourId(at: number): string {
  return String(Math.floor(at / HOUR_MS));
}
