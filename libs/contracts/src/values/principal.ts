/** Scopes of a bearer token. `*` includes all; `mcp-client` cannot be combined and is rejected on some routes. */
export const TOKEN_SCOPES = ['rpc', 'admin', '*', 'api', 'mcp-client'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** The identity behind a call. It is sent with every call and trusted, because only services may publish on the bus. */
export interface Principal {
  tenant: string;
  /** Client of the token, or the name of the service that acts for itself. A token created again under an old id is another client. */
  client: string;
  scopes: readonly TokenScope[];
  agent?: string;
  session?: string;
  /** Restricts the token to sessions of its client. Unset: all sessions of the tenant. */
  sessions?: 'own';
  /** The agents that its token is held to; without it, all of the tenant. */
  agents?: readonly string[];
  /** Model budgets of the token, over all agents. */
  budgets?: Spend;
}

/** Limits per hour and day: tokens, and US dollars by list price. */
export interface Spend {
  perHour?: number | undefined;
  perDay?: number | undefined;
  perHourUsd?: number | undefined;
  perDayUsd?: number | undefined;
}

/**
 * User ids that name sessions of the product itself, and how the ids of the clients begin that create these sessions. No token has such an
 * id, because ids of tokens contain no `/`.
 */
export const RESERVED_USER_PREFIXES = [
  { prefix: 'hook:', client: 'webhook/' },
  { prefix: 'cron:', client: 'scheduler/' },
  { prefix: 'heartbeat:', client: 'scheduler/' },
  { prefix: 'sub-agent-', client: 'sessions/' },
  { prefix: 'graph:', client: 'graph/' },
] as const;

export const DEFAULT_TENANT = 'default';

/** `*` or the exact scope; no scope includes another. */
export function hasScope(scopes: readonly string[], required: string): boolean {
  return scopes.includes('*') || scopes.includes(required);
}

/** Whether every one of `wanted` lies within `held`: nobody grants more than they hold. */
export function isScopeSubset(requestedItems: readonly string[], held: readonly string[]): boolean {
  return held.includes('*') || requestedItems.every((scope) => held.includes(scope));
}

/** Whether somebody may use this agent, and see what is the agent's. */
export function canUseAgent({ agents }: { agents?: readonly string[] | undefined }, agentId: string): boolean {
  return agents === undefined || agents.includes(agentId);
}

/** The caller a service uses for its own work, in one tenant. */
export function servicePrincipal(service: string, tenant: string = DEFAULT_TENANT): Principal {
  return { tenant, client: `service:${service}`, scopes: ['*'] };
}
