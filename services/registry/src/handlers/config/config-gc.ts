import type { Handler } from '@switchyard/bus';
import { requireOperator, type ConfigDeps } from '../../config/write-config.ts';

const KEPT_VERSIONS = 50;

export function configGc({ versions, configuration }: ConfigDeps): Handler<'config.gc'> {
  return async ({ dryRun = false }, ctx) => {
    requireOperator(ctx, configuration);
    const { removed: squashed, root: newRootSha } = await versions.fold(KEPT_VERSIONS, { dryRun });
    const { client, tenant } = ctx.principal;
    if (!dryRun) ctx.log.audit({ client, tenant, squashed, newRootSha }, 'old configuration versions were removed');
    return { gc: true as const, squashed, newRootSha, ...(dryRun ? { dryRun: true as const } : {}) };
  };
}
