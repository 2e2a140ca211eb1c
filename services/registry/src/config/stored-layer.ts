import { isDeepStrictEqual } from 'node:util';
import { REDACTED } from '@switchyard/contracts';
import { merge, treeOf, valueAt, type Tree } from '@switchyard/service-kit';
import { leaves } from './config-changes.ts';

/** The configuration as it is before a write. */
export interface Present {
  /** As it was written: defaults, files, what is stored, the environment. */
  written: Tree;
  /** The same without secrets, as it is read by whoever changes it. */
  shown: Tree;
  stored: Tree;
}

/**
 * What has to be stored so that the configuration is `whole`: what it says otherwise than it is, and what is stored already and
 * stays. What files, defaults and the environment say anyway is not stored beside them.
 */
export function layerOf(whole: Tree, { written, shown, stored }: Present): Tree {
  return gathered(whole, (value, path) => {
    const stays = isDeepStrictEqual(value, valueAt(written, path)) || isDeepStrictEqual(value, valueAt(shown, path));
    return stays ? valueAt(stored, path) : value;
  });
}

/** A change without what says that a secret stays as it is: somebody read it redacted, and writes it back as it was read. */
export function withoutShownSecrets(change: Tree, { shown }: Pick<Present, 'shown'>): Tree {
  return gathered(change, (value, path) => (isRedacted(value) && isDeepStrictEqual(value, valueAt(shown, path)) ? undefined : value));
}

/** Dotted paths of what would store the mark that stands for a secret in place of the secret. */
export function redactedPaths(tree: Tree): string[] {
  return [...leaves(tree)].filter(({ value }) => isRedacted(value)).map(({ path }) => path.join('.'));
}

function gathered(tree: Tree, choose: (value: unknown, path: readonly string[]) => unknown): Tree {
  let result: Tree = {};
  for (const { path, value } of leaves(tree)) {
    const chosen = choose(value, path);
    if (chosen !== undefined) result = merge(result, treeOf(path, chosen));
  }
  return result;
}

function isRedacted(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isRedacted);
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isRedacted);
  return typeof value === 'string' && value.includes(REDACTED);
}
