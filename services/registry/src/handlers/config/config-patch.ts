import type { Handler } from '@switchyard/bus';
import { Configuration, mergeChange, writtenPaths } from '@switchyard/contracts';
import { refuseCopiedSecrets } from '../../config/copied-secrets.ts';
import { removeStored } from '../../config/remove-stored.ts';
import { merge, valueAt, type Tree } from '@switchyard/service-kit';
import { redactConfig } from '../../config/redact-config.ts';
import { omitRedactedSecrets, type CurrentConfiguration } from '../../config/stored-layer.ts';
import { checkConfig, pickNotes, requireOperator, writeConfig, type ConfigDeps, type Plan } from '../../config/write-config.ts';
import { splitOptions } from '../../config/write-options.ts';

export function configPatch(deps: ConfigDeps): Handler<'config.patch'> {
  return async (params, ctx) => {
    requireOperator(ctx, deps.configuration);
    const { options, written: change } = splitOptions(params);
    const plan = (current: CurrentConfiguration): Plan => planPatch(deps, current, change);
    if (options.dryRun === true) return checkConfig(deps, { options, plan });
    const sections = Object.keys(change);
    const { version, ...notes } = await writeConfig(deps, { ctx, options, title: `config.patch ${sections.join(', ')}`, plan });
    return {
      patched: true as const,
      ...describeSingleChange(change),
      commitSha: version.sha,
      restarting: true as const,
      ...pickNotes(notes),
    };
  };
}

/** Plans to merge a change into the stored layer: lists with keys are merged by key, and null removes a stored value. */
export function planPatch({ configuration }: Pick<ConfigDeps, 'configuration'>, current: CurrentConfiguration, change: Tree): Plan {
  const { change: merged, removed, copied } = mergeChange(Configuration, current.written, change);
  refuseCopiedSecrets(configuration, current.stored, copied);
  const accepted = omitRedactedSecrets(merged, current);
  const named = [...writtenPaths(accepted).filter((path) => path !== ''), ...removed.map((path) => path.join('.'))];
  return { layer: merge(removeStored(current.stored, removed), accepted), named };
}

/** If one section or one key was written: its name, and its value with secrets redacted. */
function describeSingleChange(change: Tree): { section?: string; key?: string; value?: unknown } {
  const [section, ...others] = Object.keys(change);
  if (section === undefined || others.length > 0) return {};
  const [path, ...more] = writtenPaths(change);
  if (path === undefined || more.length > 0 || path === section) return { section };
  return { section, key: path.slice(section.length + 1), value: valueAt(redactConfig(change), path.split('.')) };
}
