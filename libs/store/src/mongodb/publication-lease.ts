/** Who publishes what a document owes, and until when, as one text that orders by time. */
export function encodeLease(until: number, owner: string): string {
  return `${String(Math.max(until, 0)).padStart(TIME_DIGITS, '0')} ${owner}`;
}

const TIME_DIGITS = 15;
/** Before all others: of whoever comes first. */
export const NO_LEASE = '0';

/** Finds the claims that ended before. */
export function matchExpired(now: number): { $lte: string } {
  return { $lte: `${encodeLease(now, '')}~` };
}

/** Finds the claims of one owner, whose name is letters, digits and _. */
export function matchOwner(owner: string): { $regex: string } {
  return { $regex: ` ${owner}$` };
}
