import type { Bus } from '@switchyard/bus';
import { servicePrincipal, type Principal, type ServiceName, type StoredPrincipal, type TokenStanding } from '@switchyard/contracts';

/** Returns the rights of a caller as they are stored with work that runs later on its behalf. */
export function toStoredPrincipal({ client, scopes, sessions, agents, budgets }: Principal): StoredPrincipal {
  return {
    client,
    scopes: [...scopes],
    ...(sessions && { sessions }),
    ...(agents && { agents: [...agents] }),
    ...(budgets && { budgets }),
  };
}

/** Returns the principal of stored work in its tenant. */
export function toPrincipal(tenant: string, stored: StoredPrincipal): Principal {
  const { client, scopes, sessions, agents, budgets } = stored;
  const restrictions = { ...(sessions === 'own' && { sessions }), ...(agents && { agents }), ...(budgets && { budgets }) };
  return { tenant, client, scopes, ...restrictions };
}

export interface LostRightsOptions {
  /** The service that keeps the work. */
  service: ServiceName;
  tenant: string;
  principal: StoredPrincipal;
  /** What the client did, for the message: `made this job`. */
  action: string;
}

/** Returns why stored work may no longer run; undefined if it may. Throws while the secrets service is away. */
export async function findLostRights(bus: Pick<Bus, 'as'>, options: LostRightsOptions): Promise<string | undefined> {
  const { service, tenant, principal, action } = options;
  const { standings } = await bus.as(servicePrincipal(service, tenant)).call('tokens.standing', { principals: [principal] });
  return describeStanding(`the token of ${principal.client}, which ${action},`, standings[0] ?? { state: 'gone' });
}

function describeStanding(token: string, standing: TokenStanding): string | undefined {
  if (standing.state === 'current') return undefined;
  if (standing.state === 'gone') return `${token} was revoked or has expired`;
  return `${token} has fewer rights now (${standing.rights.join(', ')})`;
}
