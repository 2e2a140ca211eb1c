import type { Bus } from '@switchyard/bus';
import { servicePrincipal, type StoredPrincipal, type TokenStanding } from '@switchyard/contracts';

/** Returns why the work of a stored principal may no longer run; undefined if it may. Throws while the secrets service is away. */
export async function findLostRights(bus: Bus, tenant: string, principal: StoredPrincipal): Promise<string | undefined> {
  const caller = bus.as(servicePrincipal('scheduler', tenant));
  const { standings } = await caller.call('tokens.standing', { principals: [principal] });
  return describe(principal.client, standings[0] ?? { state: 'gone' });
}

function describe(client: string, standing: TokenStanding): string | undefined {
  if (standing.state === 'current') return undefined;
  if (standing.state === 'gone') return `the token of ${client}, which made this job, was revoked or has expired`;
  return `the token of ${client}, which made this job, has fewer rights now (${standing.rights.join(', ')})`;
}
