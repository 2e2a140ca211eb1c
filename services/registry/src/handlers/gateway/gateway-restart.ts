import type { Handler } from '@switchyard/bus';
import { MAX, type RollingRestart } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { requireOperator } from '../../config/write-config.ts';
import type { RestartCoordinator } from '../../restart/restart-coordinator.ts';

/** Answers once the restart plan is stored. Any replica of the registry continues it after a crash. */
export function gatewayRestart(
  restarts: Pick<RestartCoordinator, 'begin'>,
  configuration: ConfigurationSource,
): Handler<'gateway.restart'> {
  return async (_params, ctx) => {
    requireOperator(ctx, configuration);
    const { client, tenant } = ctx.principal;
    const restart = await restarts.begin(client);
    ctx.log.audit({ client, tenant, restart: restart.id }, 'a restart of all processes was started');
    const warning = describeWarning(restart);
    return { restarting: true, ...(warning === undefined ? {} : { warning: warning.slice(0, MAX.line) }) };
  };
}

/** Describes the effect on clients that retry. */
function describeWarning({ ready, waiting, turn }: RollingRestart): string | undefined {
  if (waiting.length + (turn ? 1 : 0) === 1)
    return 'All services run in one process: its connections close and are accepted again shortly after.';
  const single = Object.entries(ready).flatMap(([service, count]) => (count === 1 ? [service] : []));
  if (single.length === 0) return undefined;
  return `Only one replica of ${single.toSorted().join(', ')} is running: calls to it fail with UNAVAILABLE until it has restarted.`;
}
