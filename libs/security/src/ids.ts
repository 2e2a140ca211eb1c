import { randomFillSync } from 'node:crypto';
import { encodeBase62 } from './base62.ts';

const ID_BYTES = 16;
const ID_DIGITS = 22;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** One system call fills it for 256 ids. */
const pool = Buffer.allocUnsafe(256 * ID_BYTES);
let used = pool.length;

/** `<prefix>_<22 base62>` of 16 random bytes, such as `turn_0s8…`. */
export function mintId(prefix: string): string {
  return `${prefix}_${randomBase62(ID_DIGITS)}`;
}

/** Random digits, at most 22. For names; secrets are minted by `mintToken`. */
export function randomBase62(digits: number): string {
  if (digits > ID_DIGITS) throw new RangeError(`at most ${ID_DIGITS} digits`);
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return encodeBase62(pool.subarray(used - ID_BYTES, used), digits);
}

/** What a caller chose as its request id, if it is safe to repeat in logs and headers; else a new one. */
export function acceptRequestId(value: unknown): string {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : mintId('req');
}
