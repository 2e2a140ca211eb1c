/** Who publishes what a document owes, and until when, as one text that orders by time. */
export function claimUntil(until: number, owner: string): string {
  return `${String(Math.max(until, 0)).padStart(TIME_DIGITS, '0')} ${owner}`;
}

const TIME_DIGITS = 15;
/** Before all others: of whoever comes first. */
export const NOBODYS = '0';

/** Finds the claims that ended before. */
export function endedBy(now: number): { $lte: string } {
  return { $lte: `${claimUntil(now, '')}~` };
}

/** Finds the claims of one owner, whose name is letters, digits and _. */
export function heldBy(owner: string): { $regex: string } {
  return { $regex: ` ${owner}$` };
}
