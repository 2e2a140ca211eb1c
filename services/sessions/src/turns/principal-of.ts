import type { Principal } from '@switchyard/contracts';
import type { TurnDocument } from '../data.ts';

/** Who a stored turn runs for. */
export function principalOf({ client, scopes, sessions }: TurnDocument, tenant: string): Principal {
  return { tenant, client, scopes: scopes as Principal['scopes'], ...(sessions === undefined ? {} : { sessions }) };
}
