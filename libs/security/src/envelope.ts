import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
/** First of all that is sealed: which cipher, and how its parts stand. */
const FORM = 'AGS1';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_DIGITS = 16;
/** What has fewer different bytes was typed, not drawn. */
const LEAST_DIFFERENT = 12;
const KEK = 'switchyard/kek/v1';

/** A key that seals, and what it is called. The name says nothing of the key. */
export interface SealingKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** A new one of 256 random bits. */
export function mintSealingKey(id: string): SealingKey {
  return { id, bytes: randomBytes(KEY_BYTES) };
}

/**
 * The key that wraps all others, derived from the text of a master key: at least 64 hexadecimal digits or 44 of base64, of which the
 * first 32 bytes count. Undefined for any other text, and for one that nobody drew at random.
 */
export function readMasterKey(text: string): SealingKey | undefined {
  const master = decode(text)?.subarray(0, KEY_BYTES);
  if (master?.length !== KEY_BYTES || new Set(master).size < LEAST_DIFFERENT) return undefined;
  const bytes = new Uint8Array(hkdfSync('sha256', master, '', KEK, KEY_BYTES));
  return { id: createHash('sha256').update('id').update(bytes).digest('hex').slice(0, ID_DIGITS), bytes };
}

/** Another key out of this one, for another use: from neither can the other be known. */
export function deriveKey({ bytes }: SealingKey, use: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', bytes, '', use, KEY_BYTES));
}

function decode(text: string): Buffer | undefined {
  if (/^[0-9a-f]*$/i.test(text)) return Buffer.from(text.slice(0, KEY_BYTES * 2), 'hex'); // also one that lost a digit
  return /^[A-Za-z0-9+/_-]{43,}={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

/** Sealed for one place, which `place` names: moved to any other, or changed by one bit, it does not open. */
export function seal(key: SealingKey, plain: Uint8Array, place: readonly string[]): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(placed(key, place));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return [FORM, key.id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
}

/** Undefined for what this key did not seal for this place, whatever is wrong with it. */
export function unseal(key: SealingKey, text: string, place: readonly string[]): Uint8Array | undefined {
  const [form, id, iv = '', body = '', ...more] = text.split('.');
  const sealed = Buffer.from(body, 'base64url');
  const nonce = Buffer.from(iv, 'base64url');
  const whole = form === FORM && id === key.id && more.length === 0 && nonce.length === IV_BYTES && sealed.length >= TAG_BYTES;
  // Bits that no byte is made of would be another text for the same seal.
  if (!whole || sealed.toString('base64url') !== body || nonce.toString('base64url') !== iv) return undefined;
  const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(placed(key, place));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function placed({ id }: SealingKey, place: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify([FORM, id, ...place]));
}
