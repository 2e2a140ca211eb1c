import { createHash, randomFillSync } from 'node:crypto';
import { encodeBase62 } from './base62.ts';

const ID_DIGITS = 22;
const ID_BYTES = 16;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte. Higher bytes are discarded, so that every digit is equally likely. */
const UNBIASED_LIMIT = 248;

/** Maps a random byte to a digit; 0 for discarded bytes. */
const BYTE_TO_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) => (byte < UNBIASED_LIMIT ? DIGITS.charCodeAt(byte % DIGITS.length) : 0));

/** Random bytes for about 260 ids, filled by one system call. */
const bytes = Buffer.allocUnsafe(6_144);
let digits = '';
let used = 0;

function refill(): void {
  randomFillSync(bytes);
  const accepted = Buffer.allocUnsafe(bytes.length);
  let count = 0;
  for (const byte of bytes) {
    const digit = BYTE_TO_DIGIT[byte] as number;
    if (digit !== 0) accepted[count++] = digit;
  }
  digits = accepted.toString('latin1', 0, count);
  used = 0;
}

/** Creates a random id `<prefix>_<22 base62>` with the entropy of 16 bytes, such as `turn_0s8…`. */
export function mintId(prefix: string): string {
  return `${prefix}_${randomBase62(ID_DIGITS)}`;
}

/** Derives an id of the same form from texts. It is deterministic and collision-resistant (SHA-256). */
export function deriveId(prefix: string, ...texts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest();
  return `${prefix}_${encodeBase62(digest.subarray(0, ID_BYTES), ID_DIGITS)}`;
}

/** Random digits for names, at most 22. Use `mintToken` for secrets. */
export function randomBase62(count: number): string {
  if (count > ID_DIGITS) throw new RangeError(`at most ${ID_DIGITS} digits`);
  if (used + count > digits.length) refill();
  used += count;
  return digits.slice(used - count, used);
}

/** Accepts the request id of a caller if it is safe in logs and headers, else creates a new one. */
export function acceptRequestId(value: unknown): string {
  return typeof value === 'string' && REQUEST_ID.test(value) ? value : mintId('req');
}
