import type { Principal, StoredPrincipal } from '@switchyard/contracts';

/** Returns the rights of a caller as they are stored with its run. */
export function toStoredPrincipal({ client, scopes, sessions, agents, budgets }: Principal): StoredPrincipal {
  return {
    client,
    scopes: [...scopes],
    ...(sessions && { sessions }),
    ...(agents && { agents: [...agents] }),
    ...(budgets && { budgets }),
  };
}

export function toPrincipal(tenant: string, stored: StoredPrincipal): Principal {
  const { client, scopes, sessions, agents, budgets } = stored;
  const restrictions = { ...(sessions === 'own' && { sessions }), ...(agents && { agents }), ...(budgets && { budgets }) };
  return { tenant, client, scopes, ...restrictions };
}
