import type { Principal } from '@switchyard/contracts';
import type { TurnDocument } from '../data.ts';

/** Who a stored turn runs for. */
export function principalOf({ client, scopes, sessions, budgets }: TurnDocument, tenant: string): Principal {
  return { tenant, client, scopes: scopes as Principal['scopes'], ...(sessions && { sessions }), ...(budgets && { budgets }) };
}
