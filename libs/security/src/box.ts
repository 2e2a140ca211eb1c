import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { seal, unseal, type SealingKey } from './envelope.ts';

const CURVE = 'x25519';
const PAIR = 'switchyard/box/v1';
const KEY_BYTES = 32;
/** A public key of the curve as text: 32 bytes without padding. */
const PUBLIC_KEY = /^[A-Za-z0-9_-]{43}$/;
/** Whoever starts processes for years does not fill the memory of one. */
const MOST_PAIRS = 1_000;

/** One end of sealed messages. Its private key lives in this process alone, and as long as it does. */
export interface Box {
  /** What others seal to; it may be known to everybody. */
  readonly key: string;
  /** Sealed so that only the box of that key opens it, and only for this place. Undefined where the key is none. */
  seal(to: string, plain: Uint8Array, place: readonly string[]): string | undefined;
  /** Undefined for what was not sealed to this box for this place. */
  unseal(text: string, place: readonly string[]): Uint8Array | undefined;
}

/**
 * A box of its own, or the one that everybody has who has these 32 bytes. The agreement of two boxes is made once: it costs more
 * than all else, and is the same for each message.
 */
export function openBox(from?: Uint8Array): Box {
  const { publicKey, privateKey } = from === undefined ? generateKeyPairSync(CURVE) : pairOf(from);
  const key = publicKey.export({ format: 'jwk' }).x ?? '';
  const pairs = new Map<string, SealingKey>();

  function agree(from: string, to: string): SealingKey | undefined {
    const other = from === key ? to : from;
    const named = `${from} ${to}`;
    const known = pairs.get(named);
    if (known !== undefined) return known;
    const shared = sharedWith(privateKey, other);
    if (shared === undefined) return undefined;
    const pair = { id: from, bytes: new Uint8Array(hkdfSync('sha256', shared, '', `${PAIR} ${named}`, KEY_BYTES)) };
    if (pairs.size >= MOST_PAIRS) pairs.clear();
    pairs.set(named, pair);
    return pair;
  }

  return {
    key,
    seal(to, plain, place) {
      const pair = agree(key, to);
      return pair && seal(pair, plain, place);
    },
    unseal(text, place) {
      const pair = agree(text.split('.', 2)[1] ?? '', key);
      return pair && unseal(pair, text, place);
    },
  };
}

/** What stands before the bytes of a private key of the curve (RFC 8410). */
const PRIVATE_KEY = Buffer.from('302e020100300506032b656e04220420', 'hex');

function pairOf(bytes: Uint8Array): { publicKey: KeyObject; privateKey: KeyObject } {
  const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_KEY, bytes]), format: 'der', type: 'pkcs8' });
  return { publicKey: createPublicKey(privateKey), privateKey };
}

/** Undefined for what is no key, and for one that makes the same secret with everybody. */
function sharedWith(privateKey: KeyObject, other: string): Buffer | undefined {
  if (!PUBLIC_KEY.test(other)) return undefined;
  try {
    return diffieHellman({ privateKey, publicKey: createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'X25519', x: other } }) });
  } catch {
    return undefined;
  }
}
