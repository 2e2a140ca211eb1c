import type { Handler } from '@switchyard/bus';
import { checkConfig, requireOperator, writeConfig, type ConfigDeps, type Plan } from '../../config/write-config.ts';

const SHORT_HASH_LENGTH = 12;

/** Writes a new version with the content of an earlier one. */
export function configRollback(deps: ConfigDeps): Handler<'config.rollback'> {
  return async ({ sha, ...options }, ctx) => {
    requireOperator(ctx, deps.configuration);
    const { sha: restores, layer } = await deps.versions.find(sha);
    const plan = (): Plan => ({ layer, named: [], restores });
    if (options.dryRun === true) return checkConfig(deps, { options, plan });
    const { version } = await writeConfig(deps, {
      ctx,
      options,
      title: `config.rollback to ${restores.slice(0, SHORT_HASH_LENGTH)}`,
      plan,
    });
    return { rolledBack: true as const, sha: restores, newCommitSha: version.sha, restarting: true as const };
  };
}
