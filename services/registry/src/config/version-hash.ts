import { createHash } from 'node:crypto';
import { isTree, type Tree } from '@switchyard/service-kit';
import type { ConfigVersionDocument } from '../documents/collections.ts';

/** The SHA-256 of all fields of a version, including its parent and its layer. */
export function versionHash(version: Omit<ConfigVersionDocument, 'sha'>, layer: Tree): string {
  return createHash('sha256')
    .update(canonicalJson({ ...version, layer }))
    .digest('hex');
}

/** JSON with sorted keys. */
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
