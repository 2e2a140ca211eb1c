import type { Handler } from '@switchyard/bus';
import { MAX, type RollingRestart } from '@switchyard/contracts';
import type { ConfigurationSource } from '@switchyard/service-kit';
import { requireOperator } from '../../config/write-config.ts';
import type { Restarts } from '../../restart/restart-coordinator.ts';

/** Answers once it is written who leaves after whom: what is written goes on, whoever dies. */
export function gatewayRestart(restarts: Pick<Restarts, 'begin'>, configuration: ConfigurationSource): Handler<'gateway.restart'> {
  return async (_params, ctx) => {
    requireOperator(ctx, configuration);
    const { client, tenant } = ctx.principal;
    const restart = await restarts.begin(client);
    ctx.log.audit({ client, tenant, restart: restart.id }, 'every process is restarted');
    const warning = warningOf(restart);
    return { restarting: true, ...(warning === undefined ? {} : { warning: warning.slice(0, MAX.line) }) };
  };
}

/** What clients will notice that try again. */
function warningOf({ ready, waiting, turn }: RollingRestart): string | undefined {
  if (waiting.length + (turn ? 1 : 0) === 1) return 'one process does everything: its connections close, and are taken again in a moment';
  const single = Object.entries(ready).flatMap(([service, count]) => (count === 1 ? [service] : []));
  if (single.length === 0) return undefined;
  return `there is one replica of ${single.toSorted().join(', ')}: calls to it fail UNAVAILABLE until it is there again`;
}
