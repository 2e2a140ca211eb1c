import type { Ctx } from '@switchyard/bus';

interface Change {
  change: 'created' | 'updated' | 'deleted' | 'suspended' | 'resumed';
  /** Which keys of its configuration; never their values, which may be secret. */
  keys?: readonly string[];
}

/** Who changed which agent. */
export function logChange({ principal, log }: Pick<Ctx, 'principal' | 'log'>, agentId: string, { change, keys }: Change): void {
  const { client, tenant } = principal;
  log.audit({ client, tenant, agentId, ...(keys === undefined ? {} : { keys }) }, `an agent was ${change}`);
}
