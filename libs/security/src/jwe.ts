import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

const CURVE = 'X25519';
const KEY_AGREEMENT = 'ECDH-ES';
const CIPHER = 'A256GCM';
/** PKCS #8 header of an X25519 private key (RFC 8410); the 32 bytes of the key follow it. */
const PKCS8_HEADER = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** The message that a JWE belongs to. It is stored in the protected header and compared when the JWE is decrypted. */
export type JweBinding = Readonly<Record<string, string>>;

/** An X25519 key pair that decrypts JWEs. The private key never leaves the process. */
export interface DecryptionKey {
  /** Base64url without padding. */
  readonly publicKey: string;
  /** Undefined if the JWE was encrypted to another key, has been changed, or is bound to another message. */
  decrypt(jwe: string, binding: JweBinding): Promise<Uint8Array | undefined>;
}

/** Generates a key pair. With a seed of 32 bytes, every process that has the seed gets the same pair. */
export function createDecryptionKey(seed?: Uint8Array): DecryptionKey {
  const privateKey = seed === undefined ? generateKeyPairSync('x25519').privateKey : importSeed(seed);
  return {
    publicKey: createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '',
    async decrypt(jwe, binding) {
      const { compactDecrypt } = await import('jose/jwe/compact/decrypt');
      const algorithms = { keyManagementAlgorithms: [KEY_AGREEMENT], contentEncryptionAlgorithms: [CIPHER] };
      const decrypted = await compactDecrypt(jwe, privateKey, algorithms).catch(() => undefined);
      return isDeepStrictEqual(decrypted?.protectedHeader['binding'], binding) ? decrypted?.plaintext : undefined;
    },
  };
}

/**
 * Encrypts to a public key as a compact JWE (RFC 7516) with an ephemeral key for each message. Undefined if the public key is
 * malformed, or has a low order and would give the same secret with every private key.
 */
export async function encryptTo(publicKey: string, plaintext: Uint8Array, binding: JweBinding): Promise<string | undefined> {
  const [{ CompactEncrypt }, { importJWK }] = await Promise.all([import('jose/jwe/compact/encrypt'), import('jose/key/import')]);
  try {
    const key = await importJWK({ kty: 'OKP', crv: CURVE, x: publicKey }, KEY_AGREEMENT);
    return await new CompactEncrypt(plaintext).setProtectedHeader({ alg: KEY_AGREEMENT, enc: CIPHER, binding }).encrypt(key);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

function importSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, seed]), format: 'der', type: 'pkcs8' });
}
