import type { Handler } from '@switchyard/bus';
import { writtenPaths } from '@switchyard/contracts';
import { merge, valueAt, type Tree } from '@switchyard/service-kit';
import { shownConfig } from '../../config/redact-config.ts';
import { withoutShownSecrets, type Present } from '../../config/stored-layer.ts';
import { checkConfig, requireOperator, writeConfig, type ConfigGiven, type Plan } from '../../config/write-config.ts';
import { splitOptions } from '../../config/write-options.ts';

export function configPatch(given: ConfigGiven): Handler<'config.patch'> {
  return async (params, ctx) => {
    requireOperator(ctx, given.configuration);
    const { options, written: change } = splitOptions(params);
    const plan = (present: Present): Plan => {
      const meant = withoutShownSecrets(change, present);
      return { layer: merge(present.stored, meant), named: writtenPaths(meant) };
    };
    if (options.dryRun === true) return checkConfig(given, { options, plan });
    const sections = Object.keys(change);
    const { version, notInForce } = await writeConfig(given, { ctx, options, title: `config.patch ${sections.join(', ')}`, plan });
    return {
      patched: true as const,
      ...whatAlone(change),
      commitSha: version.sha,
      restarting: true as const,
      ...(notInForce === undefined ? {} : { notInForce }),
    };
  };
}

/** If one section or one key was written: its name, and its value with secrets redacted. */
function whatAlone(change: Tree): { section?: string; key?: string; value?: unknown } {
  const [section, ...others] = Object.keys(change);
  if (section === undefined || others.length > 0) return {};
  const [path, ...more] = writtenPaths(change);
  if (path === undefined || more.length > 0 || path === section) return { section };
  return { section, key: path.slice(section.length + 1), value: valueAt(shownConfig(change), path.split('.')) };
}
