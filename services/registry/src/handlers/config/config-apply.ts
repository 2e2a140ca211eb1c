import { isDeepStrictEqual } from 'node:util';
import type { Handler } from '@switchyard/bus';
import { valueAt } from '@switchyard/service-kit';
import { iterateLeaves } from '../../config/config-changes.ts';
import { splitOptions } from '../../config/write-options.ts';
import { computeLayer, type CurrentConfiguration } from '../../config/stored-layer.ts';
import { checkConfig, pickNotes, requireOperator, writeConfig, type ConfigDeps, type Plan } from '../../config/write-config.ts';

/** Replaces the stored configuration. Values that files or the environment provide anyway are not stored. */
export function configApply(deps: ConfigDeps): Handler<'config.apply'> {
  return async (params, ctx) => {
    requireOperator(ctx, deps.configuration);
    const { options, written: whole } = splitOptions(params);
    const plan = (current: CurrentConfiguration): Plan => {
      const layer = computeLayer(whole, current);
      const changed = [...iterateLeaves(layer)].filter(({ path, value }) => !isDeepStrictEqual(value, valueAt(current.stored, path)));
      return { layer, named: changed.map(({ path }) => path.join('.')) };
    };
    if (options.dryRun === true) return checkConfig(deps, { options, plan });
    const sections = Object.keys(whole);
    const { version, ...notes } = await writeConfig(deps, { ctx, options, title: `config.apply ${sections.join(', ')}`, plan });
    return {
      applied: true as const,
      sections,
      commitSha: version.sha,
      restarting: true as const,
      ...pickNotes(notes),
    };
  };
}
