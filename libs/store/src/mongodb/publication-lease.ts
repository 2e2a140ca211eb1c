/** Encodes a lease on a document's events as a text that sorts by expiry time. */
export function encodeLease(deadline: number, owner: string): string {
  return `${String(Math.max(deadline, 0)).padStart(TIME_DIGITS, '0')} ${owner}`;
}

const TIME_DIGITS = 15;
/** Sorts before all leases, so any replica may take it. */
export const NO_LEASE = '0';

/** Matches expired leases. */
export function matchExpired(now: number): { $lte: string } {
  return { $lte: `${encodeLease(now, '')}~` };
}

/** Matches leases of an owner, whose name consists of letters, digits and _. */
export function matchOwner(owner: string): { $regex: string } {
  return { $regex: ` ${owner}$` };
}
