import { createHash } from 'node:crypto';
import type { Key } from './cache.ts';

/** Hashes a key to an entry name of fixed length, which reveals no addresses or clients. */
export function hashKey(key: Key): string {
  // JSON escapes keep the parts apart and distinguish lone surrogates.
  return createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}
