import { createHash, randomFillSync } from 'node:crypto';
import { encodeBase62 } from './base62.ts';

const ID_DIGITS = 22;
const ID_BYTES = 16;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte: a higher one is thrown away, so that every digit is equally likely. */
const FAIR = 248;

/** The digit that a random byte stands for; 0 for none. */
const DIGIT_OF = Uint8Array.from({ length: 256 }, (_, byte) => (byte < FAIR ? DIGITS.charCodeAt(byte % DIGITS.length) : 0));

/** One system call fills it for some 260 ids. */
const bytes = Buffer.allocUnsafe(6_144);
let digits = '';
let used = 0;

function refill(): void {
  randomFillSync(bytes);
  const kept = Buffer.allocUnsafe(bytes.length);
  let count = 0;
  for (const byte of bytes) {
    const digit = DIGIT_OF[byte] as number;
    if (digit !== 0) kept[count++] = digit;
  }
  digits = kept.toString('latin1', 0, count);
  used = 0;
}

/** `<prefix>_<22 base62>`, as hard to guess as 16 random bytes, such as `turn_0s8…`. */
export function mintId(prefix: string): string {
  return `${prefix}_${randomBase62(ID_DIGITS)}`;
}

/** An id of the same form that belongs to these texts: the same give the same, and nobody finds others that give it. */
export function deriveId(prefix: string, ...texts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest();
  return `${prefix}_${encodeBase62(digest.subarray(0, ID_BYTES), ID_DIGITS)}`;
}

/** Random digits, at most 22. For names; secrets are minted by `mintToken`. */
export function randomBase62(count: number): string {
  if (count > ID_DIGITS) throw new RangeError(`at most ${ID_DIGITS} digits`);
  if (used + count > digits.length) refill();
  used += count;
  return digits.slice(used - count, used);
}

/** What a caller chose as its request id, if it is safe to repeat in logs and headers; else a new one. */
export function acceptRequestId(value: unknown): string {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : mintId('req');
}
