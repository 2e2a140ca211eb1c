/** To the minute, in UTC: tables of two machines can be laid side by side. */
export function minute(at: number | string): string {
  return new Date(at).toISOString().slice(0, 16);
}

export function second(at: number | string): string {
  return new Date(at).toISOString().slice(0, 19);
}
