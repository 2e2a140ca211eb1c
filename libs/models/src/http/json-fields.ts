/** What a stranger's JSON may hold, looked at member by member: only those that are used, and each where it is used. */
export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object's members; those of anything else are none. */
export function membersOf(value: unknown): Members {
  return isMembers(value) ? value : {};
}

/** Text that says something. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count or a sum, which is never below nothing. */
export function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined;
}
