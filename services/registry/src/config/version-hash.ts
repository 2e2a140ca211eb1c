import { createHash } from 'node:crypto';
import { isTree, type Tree } from '@switchyard/service-kit';
import type { ConfigVersionDocument } from '../documents/collections.ts';

/** The name of a version: the SHA-256 of all it says, its parent and its layer included. */
export function versionHash(version: Omit<ConfigVersionDocument, 'sha'>, layer: Tree): string {
  return createHash('sha256')
    .update(canonicalJson({ ...version, layer }))
    .digest('hex');
}

/** The same text for the same value, in whatever order its keys were written. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isTree(value)) return value;
  const entries = Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])] as const);
  return Object.fromEntries(entries);
}
