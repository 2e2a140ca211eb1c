/** What a bearer token may hold. `*` is all of them; `mcp-client` stands alone and is refused on some routes. */
export const TOKEN_SCOPES = ['rpc', 'admin', '*', 'api', 'mcp-client'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Who a call is made for. Travels with every call; trusted, because only services may publish on the bus. */
export interface Principal {
  tenant: string;
  /** Who the token speaks for, or the name of the service that acts on its own. A token made again under an old id is another client. */
  client: string;
  scopes: readonly TokenScope[];
  agent?: string;
  session?: string;
  /** Held to the sessions that this client made; without it, the tenant's are open. */
  sessions?: 'own';
  /** The agents that its token is held to; without it, all of the tenant. */
  agents?: readonly string[];
  /** What its token may use of models, whichever agents answer. */
  budgets?: Spend;
}

/** What may be used in an hour and in a day: tokens, and US dollars by list price. */
export interface Spend {
  perHour?: number | undefined;
  perDay?: number | undefined;
  perHourUsd?: number | undefined;
  perDayUsd?: number | undefined;
}

export const DEFAULT_TENANT = 'default';

/** `*` or the exact scope; no scope includes another. */
export function hasScope(scopes: readonly string[], required: string): boolean {
  return scopes.includes('*') || scopes.includes(required);
}

/** Whether every one of `wanted` lies within `held`: nobody grants more than they hold. */
export function isScopeSubset(wanted: readonly string[], held: readonly string[]): boolean {
  return held.includes('*') || wanted.every((scope) => held.includes(scope));
}

/** Whether somebody may use this agent, and see what is the agent's. */
export function canUseAgent({ agents }: { agents?: readonly string[] | undefined }, agentId: string): boolean {
  return agents === undefined || agents.includes(agentId);
}

/** The caller a service uses for its own work, in one tenant. */
export function servicePrincipal(service: string, tenant: string = DEFAULT_TENANT): Principal {
  return { tenant, client: `service:${service}`, scopes: ['*'] };
}
