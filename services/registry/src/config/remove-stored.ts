import { ServiceError } from '@switchyard/contracts';
import { valueAt, type Tree } from '@switchyard/service-kit';
import { omitPath } from './config-changes.ts';

/** Removes dotted paths from the stored layer, so that files and defaults apply again. Throws for a path that is not stored. */
export function removeStored(stored: Tree, paths: readonly string[]): Tree {
  const missing = paths.find((path) => valueAt(stored, path.split('.')) === undefined);
  if (missing !== undefined)
    throw new ServiceError(
      'FAILED_PRECONDITION',
      `${missing} has no stored value that null could remove. Its value comes from a file, the environment or the defaults.`,
      { details: { reason: 'NOT_STORED' } },
    );
  return paths.reduce<Tree>((left, path) => omitPath(left, path.split('.')), stored);
}
