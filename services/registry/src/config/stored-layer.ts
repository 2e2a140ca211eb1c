import { isDeepStrictEqual } from 'node:util';
import { REDACTED } from '@switchyard/contracts';
import { merge, getTree, valueAt, type Tree } from '@switchyard/service-kit';
import { iterateLeaves } from './config-changes.ts';

/** The configuration before a write. */
export interface CurrentConfiguration {
  /** Defaults, files, stored layer and environment, with references as written. */
  written: Tree;
  /** The same with redacted secrets, as returned by config.read. */
  shown: Tree;
  stored: Tree;
}

/**
 * Computes the layer to store so that the configuration becomes `whole`: changed values, and stored values that stay. Values that
 * files, defaults or the environment provide anyway are not stored.
 */
export function computeLayer(whole: Tree, { written, shown, stored }: CurrentConfiguration): Tree {
  return selectValues(whole, (value, path) => {
    const isUnchanged = isDeepStrictEqual(value, valueAt(written, path)) || isDeepStrictEqual(value, valueAt(shown, path));
    return isUnchanged ? valueAt(stored, path) : value;
  });
}

/** Removes redacted secrets that a caller read and wrote back unchanged: these stay as they are. */
export function omitRedactedSecrets(change: Tree, { shown }: Pick<CurrentConfiguration, 'shown'>): Tree {
  return selectValues(change, (value, path) => (isRedacted(value) && isDeepStrictEqual(value, valueAt(shown, path)) ? undefined : value));
}

/** Dotted paths of values that contain the placeholder of a redacted secret. */
export function redactedPaths(tree: Tree): string[] {
  return [...iterateLeaves(tree)].filter(({ value }) => isRedacted(value)).map(({ path }) => path.join('.'));
}

function selectValues(tree: Tree, choose: (value: unknown, path: readonly string[]) => unknown): Tree {
  let result: Tree = {};
  for (const { path, value } of iterateLeaves(tree)) {
    const chosen = choose(value, path);
    if (chosen !== undefined) result = merge(result, getTree(path, chosen));
  }
  return result;
}

function isRedacted(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isRedacted);
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isRedacted);
  return typeof value === 'string' && value.includes(REDACTED);
}
