import type { Principal } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** Restores the principal that a stored turn runs for. */
export function restorePrincipal({ client, scopes, sessions, budgets, agents }: TurnDocument, tenant: string): Principal {
  const held = { ...(sessions && { sessions }), ...(budgets && { budgets }), ...(agents && { agents }) };
  return { tenant, client, scopes: scopes as Principal['scopes'], ...held };
}
