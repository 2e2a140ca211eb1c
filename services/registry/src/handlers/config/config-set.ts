import type { Handler } from '@switchyard/bus';
import { Configuration, ConfigurationPatch, parseParams, writtenPaths } from '@switchyard/contracts';
import { merge, resolveReferences, treeOf, valueAt, type Tree, type Variables } from '@switchyard/service-kit';
import { without } from '../../config/config-changes.ts';
import { sectionNamed } from '../../config/find-section.ts';
import { withoutShownSecrets, type Present } from '../../config/stored-layer.ts';
import { checkConfig, requireOperator, writeConfig, type ConfigGiven, type Plan } from '../../config/write-config.ts';

/** Sets one key as config.patch does. null removes the stored value, so that files and defaults apply again. */
export function configSet(given: ConfigGiven & { env: Variables }): Handler<'config.set'> {
  return async ({ section, key, value, ...options }, ctx) => {
    requireOperator(ctx, given.configuration);
    const path = [sectionNamed(section), ...key.split('.')];
    const change = treeOf(path, value);
    if (value !== null) checkValue(change, given.env);
    let previous: unknown;
    const plan = (present: Present): Plan => {
      previous = valueAt(present.shown, path);
      if (value === null) return { layer: without(present.stored, path), named: [path.join('.')] };
      const meant = withoutShownSecrets(change, present);
      return { layer: merge(present.stored, meant), named: writtenPaths(meant) };
    };
    if (options.dryRun === true) return checkConfig(given, { options, plan });
    const { version, notInForce } = await writeConfig(given, { ctx, options, title: `config.set ${path.join('.')}`, plan });
    return {
      ok: true as const,
      ...(previous === undefined ? {} : { previous }),
      commitSha: version.sha,
      ...(notInForce === undefined ? {} : { notInForce }),
    };
  };
}

/** A `${NAME}` reference is stored as written, so the value of the variable is validated instead. */
function checkValue(change: Tree, env: Variables): void {
  parseParams(ConfigurationPatch, resolveReferences(change, env, Configuration));
}
