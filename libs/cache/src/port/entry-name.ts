import { createHash } from 'node:crypto';
import type { Key } from './cache.ts';

/** What an entry is called, however long and strange the parts of its key are; nobody reads addresses or clients out of it. */
export function hashKey(key: Key): string {
  // As JSON, because its escapes keep parts apart, and lone surrogates from being one and the same.
  return createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}
