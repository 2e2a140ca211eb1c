import type { Principal, TokenScope } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** Restores the principal that a stored turn runs for. */
export function restorePrincipal({ client, scopes, sessions, budgets, agents }: TurnDocument, tenant: string): Principal {
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents }) };
  return { tenant, client, scopes: scopes as Principal['scopes'], ...held };
}

/** Requested scopes can only narrow the scopes of the token. */
export function narrowScopes(held: readonly TokenScope[], request: readonly TokenScope[] | undefined): TokenScope[] {
  if (!request || request.includes('*')) return [...held];
  return held.includes('*') ? [...request] : request.filter((scope) => held.includes(scope));
}
