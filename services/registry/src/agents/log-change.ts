import type { Ctx } from '@switchyard/bus';

interface Change {
  change: 'created' | 'updated' | 'deleted' | 'suspended' | 'resumed';
  /** The changed keys. Values are not logged, because they may be secret. */
  keys?: readonly string[];
}

export function logChange({ principal, log }: Pick<Ctx, 'principal' | 'log'>, agentId: string, { change, keys }: Change): void {
  const { client, tenant } = principal;
  log.audit({ client, tenant, agentId, ...(keys === undefined ? {} : { keys }) }, `an agent was ${change}`);
}
