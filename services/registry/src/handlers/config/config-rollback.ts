import type { Handler } from '@switchyard/bus';
import { checkConfig, requireOperator, writeConfig, type ConfigGiven, type Plan } from '../../config/write-config.ts';

const SHORT = 12;

/** Writes a new version with the content of an earlier one. */
export function configRollback(given: ConfigGiven): Handler<'config.rollback'> {
  return async ({ sha, ...options }, ctx) => {
    requireOperator(ctx, given.configuration);
    const { sha: restores, layer } = await given.versions.find(sha);
    const plan = (): Plan => ({ layer, named: [], restores });
    if (options.dryRun === true) return checkConfig(given, { options, plan });
    const { version } = await writeConfig(given, { ctx, options, title: `config.rollback to ${restores.slice(0, SHORT)}`, plan });
    return { rolledBack: true as const, sha: restores, newCommitSha: version.sha, restarting: true as const };
  };
}
