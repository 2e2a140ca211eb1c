/** Formats a time to the minute, in UTC. */
export function minute(at: number | string): string {
  return new Date(at).toISOString().slice(0, 16);
}

export function second(at: number | string): string {
  return new Date(at).toISOString().slice(0, 19);
}
