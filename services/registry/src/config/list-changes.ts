import { isDeepStrictEqual } from 'node:util';
import { MAX, type Result } from '@switchyard/contracts';
import { isTree, type Tree } from '@switchyard/service-kit';
import { redactBoth } from './mark-secrets.ts';

type Change = NonNullable<Result<'config.diff'>['changes']>[number];

/** Lists the values that differ, with both values. Lists are compared as a whole. Secrets are redacted, and changed secrets are marked. */
export function listChanges(before: Tree, after: Tree): Change[] {
  const { shownBefore, shownAfter } = redactBoth(before, after);
  return [...iterateChanges(shownBefore, shownAfter, '')].slice(0, MAX.many);
}

function* iterateChanges(before: unknown, after: unknown, path: string): Generator<Change, void, void> {
  if (isDeepStrictEqual(before, after)) return;
  if (!isContainer(before) || !isContainer(after)) {
    yield { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
    return;
  }
  const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  for (const key of keys) yield* iterateChanges(before?.[key], after?.[key], path === '' ? key : `${path}.${key}`);
}

/** Compares a missing object with an object key by key. */
function isContainer(value: unknown): value is Tree | undefined {
  return value === undefined || isTree(value);
}
