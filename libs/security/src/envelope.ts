import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
/** Prefix of an encrypted text: the version of its cipher and layout. */
const VERSION = 'AGS1';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_DIGITS = 16;
/** A key with fewer distinct bytes is not random. */
const MIN_DISTINCT_BYTES = 12;
const KEY_INFO = 'switchyard/kek/v1';

/** An AES-256 key with an id that reveals nothing about it. */
export interface EncryptionKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

export function createEncryptionKey(id: string): EncryptionKey {
  return { id, bytes: randomBytes(KEY_BYTES) };
}

/**
 * Derives the key that encrypts data keys from the text of a master key: at least 64 hexadecimal digits or 44 of base64, of which the
 * first 32 bytes are used. Undefined for other texts and for keys that are not random.
 */
export function readMasterKey(text: string): EncryptionKey | undefined {
  const master = decode(text)?.subarray(0, KEY_BYTES);
  if (master?.length !== KEY_BYTES || new Set(master).size < MIN_DISTINCT_BYTES) return undefined;
  const bytes = new Uint8Array(hkdfSync('sha256', master, '', KEY_INFO, KEY_BYTES));
  return { id: createHash('sha256').update('id').update(bytes).digest('hex').slice(0, ID_DIGITS), bytes };
}

/** Derives an independent key for another purpose (HKDF-SHA-256). */
export function deriveKey({ bytes }: EncryptionKey, use: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', bytes, '', use, KEY_BYTES));
}

function decode(text: string): Buffer | undefined {
  if (/^[0-9a-f]*$/i.test(text)) return Buffer.from(text.slice(0, KEY_BYTES * 2), 'hex'); // also with an odd number of digits
  return /^[A-Za-z0-9+/_-]{43,}={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

/** Encrypts with AES-256-GCM, bound to `place`. A changed text, or one that was moved to another place, fails to decrypt. */
export function seal(key: EncryptionKey, plaintext: Uint8Array, place: readonly string[]): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(key, place));
  const sealed = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return [VERSION, key.id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
}

/** Undefined if the text was not encrypted with this key for this place. */
export function unseal(key: EncryptionKey, text: string, place: readonly string[]): Uint8Array | undefined {
  const [version, id, iv = '', body = '', ...extra] = text.split('.');
  const sealed = Buffer.from(body, 'base64url');
  const nonce = Buffer.from(iv, 'base64url');
  const isWellFormed =
    version === VERSION && id === key.id && extra.length === 0 && nonce.length === IV_BYTES && sealed.length >= TAG_BYTES;
  // Rejects non-canonical base64url, so that each ciphertext has exactly one text.
  if (!isWellFormed || sealed.toString('base64url') !== body || nonce.toString('base64url') !== iv) return undefined;
  const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(key, place));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function additionalData({ id }: EncryptionKey, place: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify([VERSION, id, ...place]));
}
