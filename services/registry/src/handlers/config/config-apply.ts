import { isDeepStrictEqual } from 'node:util';
import type { Handler } from '@switchyard/bus';
import { valueAt } from '@switchyard/service-kit';
import { leaves } from '../../config/config-changes.ts';
import { splitOptions } from '../../config/write-options.ts';
import { layerOf, type Present } from '../../config/stored-layer.ts';
import { checkConfig, requireOperator, writeConfig, type ConfigGiven, type Plan } from '../../config/write-config.ts';

/** Replaces the stored configuration. Values that files or the environment provide anyway are not stored. */
export function configApply(given: ConfigGiven): Handler<'config.apply'> {
  return async (params, ctx) => {
    requireOperator(ctx, given.configuration);
    const { options, written: whole } = splitOptions(params);
    const plan = (present: Present): Plan => {
      const layer = layerOf(whole, present);
      const otherwise = [...leaves(layer)].filter(({ path, value }) => !isDeepStrictEqual(value, valueAt(present.stored, path)));
      return { layer, named: otherwise.map(({ path }) => path.join('.')) };
    };
    if (options.dryRun === true) return checkConfig(given, { options, plan });
    const sections = Object.keys(whole);
    const { version, notInForce } = await writeConfig(given, { ctx, options, title: `config.apply ${sections.join(', ')}`, plan });
    return {
      applied: true as const,
      sections,
      commitSha: version.sha,
      restarting: true as const,
      ...(notInForce === undefined ? {} : { notInForce }),
    };
  };
}
