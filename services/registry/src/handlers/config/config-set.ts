import type { Handler } from '@switchyard/bus';
import { Configuration, ConfigurationPatch, parseParams, writtenPaths } from '@switchyard/contracts';
import { merge, resolveReferences, getTree, valueAt, type Tree, type Variables } from '@switchyard/service-kit';
import { findStoredPath, removeStored } from '../../config/remove-stored.ts';
import { findSection } from '../../config/find-section.ts';
import { omitRedactedSecrets, type CurrentConfiguration } from '../../config/stored-layer.ts';
import { checkConfig, pickNotes, requireOperator, writeConfig, type ConfigDeps, type Plan } from '../../config/write-config.ts';

/** Sets one key as config.patch does. null removes the stored value, so that files and defaults apply again. */
export function configSet(deps: ConfigDeps & { env: Variables }): Handler<'config.set'> {
  return async ({ section, key, value, ...options }, ctx) => {
    requireOperator(ctx, deps.configuration);
    const path = [findSection(section), ...key.split('.')];
    const change = getTree(path, value);
    if (value !== null) checkValue(change, deps.env);
    let previous: unknown;
    const plan = (current: CurrentConfiguration): Plan => {
      previous = valueAt(current.shown, path);
      if (value === null) {
        const removed = findStoredPath(current.stored, path) ?? path;
        return { layer: removeStored(current.stored, [removed]), named: [path.join('.')] };
      }
      const accepted = omitRedactedSecrets(change, current);
      return { layer: merge(current.stored, accepted), named: writtenPaths(accepted) };
    };
    if (options.dryRun === true) return checkConfig(deps, { options, plan });
    const { version, ...notes } = await writeConfig(deps, { ctx, options, title: `config.set ${path.join('.')}`, plan });
    return {
      ok: true as const,
      ...(previous === undefined ? {} : { previous }),
      commitSha: version.sha,
      ...pickNotes(notes),
    };
  };
}

/** A `${NAME}` reference is stored as written, so the value of the variable is validated instead. */
function checkValue(change: Tree, env: Variables): void {
  parseParams(ConfigurationPatch, resolveReferences(change, env, Configuration));
}
