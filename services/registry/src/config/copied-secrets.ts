import { isDeepStrictEqual } from 'node:util';
import { ServiceError, type CopiedPart } from '@switchyard/contracts';
import { valueAt, type ConfigurationSource, type Tree } from '@switchyard/service-kit';
import { redactConfig } from './redact-config.ts';

/**
 * Refuses a patch of a list that would copy a secret from a file into the stored layer. The stored layer keeps lists whole, so that a patch
 * of one entry stores the other entries of a list that only a file contains.
 */
export function refuseCopiedSecrets(configuration: Pick<ConfigurationSource, 'origin'>, stored: Tree, copied: readonly CopiedPart[]): void {
  const found = copied.find(({ path, part }) => valueAt(stored, path) === undefined && !isDeepStrictEqual(redactConfig(part), part));
  if (!found) return;
  const path = found.path.join('.');
  const { layer, ...origin } = configuration.origin(path, stored);
  const place = 'file' in origin ? `the file ${origin.file}` : `the layer ${layer}`;
  const entry = found.key === undefined ? 'an entry' : `the entry ${found.key}`;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `${path}: ${entry} in ${place} contains a secret, and this patch would copy it into the stored configuration. ` +
      'Change the list in the file, move the secret to env.set, or replace the whole list with config.set.',
    { details: { reason: 'SECRET_IN_FILE' } },
  );
}
