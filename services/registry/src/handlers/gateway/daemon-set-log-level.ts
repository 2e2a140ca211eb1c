import type { Handler } from '@switchyard/bus';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { requireOperator } from '../../config/write-config.ts';
import type { LogLevels } from '../../log-levels/log-levels.ts';

/** Sets the log level of all processes, including processes that start later. */
export function daemonSetLogLevel(levels: Pick<LogLevels, 'set'>, configuration: ConfigurationSource): Handler<'daemon.setLogLevel'> {
  return async ({ level, module }, ctx) => {
    requireOperator(ctx, configuration);
    await levels.set(level, module);
    const { client, tenant } = ctx.principal;
    ctx.log.audit({ client, tenant, of: module ?? 'everything', to: level }, 'the log level was changed');
    return { updated: true, level, scope: module === undefined ? 'global' : 'module', persistent: false };
  };
}
