import { ServiceError } from '@switchyard/contracts';
import { isTree, valueAt, type Tree } from '@switchyard/service-kit';
import { omitPath } from './config-changes.ts';

type Path = readonly string[];

/** Removes paths from the stored layer, so that files and defaults apply again. Throws for a path that is not stored. */
export function removeStored(stored: Tree, paths: readonly Path[]): Tree {
  const missing = paths.find((path) => valueAt(stored, path) === undefined);
  if (missing !== undefined)
    throw new ServiceError(
      'FAILED_PRECONDITION',
      `${missing.join('.')} has no stored value that null could remove. Its value comes from a file, the environment or the defaults.`,
      { details: { reason: 'NOT_STORED' } },
    );
  return paths.reduce<Tree>((left, path) => omitPath(left, path), stored);
}

/** Finds the stored path that a dotted text means. A name in the stored layer may itself contain dots. */
export function findStoredPath(stored: unknown, names: Path): Path | undefined {
  if (names.length === 0) return [];
  if (!isTree(stored)) return undefined;
  for (let end = names.length; end > 0; end--) {
    const name = names.slice(0, end).join('.');
    const below = Object.hasOwn(stored, name) ? findStoredPath(stored[name], names.slice(end)) : undefined;
    if (below !== undefined) return [name, ...below];
  }
  return undefined;
}
