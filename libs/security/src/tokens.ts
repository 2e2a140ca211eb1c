import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { encodeBase62 } from './base62.ts';
import { randomBase62 } from './ids.ts';

const LOOKUP_DIGITS = 10;
const SECRET_BYTES = 32;
const SECRET_DIGITS = 43;
const CRC_DIGITS = 6;

/** Source of a regular expression that finds tokens in text, for secret scanners and log redaction. */
export const TOKEN_PATTERN = `sy_(?:pat|svc)_[0-9A-Za-z]{${LOOKUP_DIGITS}}_[0-9A-Za-z]{${SECRET_DIGITS + CRC_DIGITS}}`;

/** Minimum length of a secret that an operator provides. */
export const MIN_OPERATOR_TOKEN = 32;

const WHOLE_TOKEN = new RegExp(`^${TOKEN_PATTERN}$`);

/** `pat` for a person, `svc` for a machine. */
export type TokenKind = 'pat' | 'svc';

/** Creates a bearer secret of 256 random bits. `lookup` is the part that may be shown and logged. */
export function mintToken(kind: TokenKind): { token: string; lookup: string } {
  const lookup = randomBase62(LOOKUP_DIGITS);
  const body = `sy_${kind}_${lookup}_${encodeBase62(randomBytes(SECRET_BYTES), SECRET_DIGITS)}`;
  return { token: body + checksum(body), lookup };
}

/**
 * Checks the form of a token. `malformed` has our prefix and a wrong checksum, and is rejected without a lookup. `foreign` is a secret
 * of the operator, looked up by its hash like a valid token.
 */
export function checkToken(text: string): 'valid' | 'malformed' | 'foreign' {
  if (!text.startsWith('sy_')) return 'foreign';
  if (!WHOLE_TOKEN.test(text)) return 'malformed';
  return checksum(text.slice(0, -CRC_DIGITS)) === text.slice(-CRC_DIGITS) ? 'valid' : 'malformed';
}

/** The hex SHA-256 that is stored instead of a token. It needs no salt, because secrets have 256 random bits. */
export function hashToken(text: string): string {
  return hash('sha256', text, 'hex');
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return encodeBase62(bytes, CRC_DIGITS);
}
