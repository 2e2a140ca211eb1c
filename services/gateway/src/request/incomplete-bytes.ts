import type { Caller } from '../auth/tokens.ts';

/** What one client may make a replica hold at once of bodies and frames that are not whole yet, over all its connections. */
const MOST_BYTES = 32 * 1024 * 1024;
/** However large a message may be, a client may send a few of them at once. */
const LARGEST_AT_ONCE = 4;

/** Adds to what a client makes us hold, or takes away from it; false when it is too much. `largest` is what one message may be. */
export function changeUnfinished(caller: Pick<Caller, 'unfinished'>, bytes: number, largest: number): boolean {
  caller.unfinished += bytes;
  return caller.unfinished <= Math.max(MOST_BYTES, LARGEST_AT_ONCE * largest);
}
