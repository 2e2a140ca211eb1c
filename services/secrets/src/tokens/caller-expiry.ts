import type { Principal } from '@switchyard/contracts';
import { isLive } from '../documents/collections.ts';
import { getClientId, getTokenId } from './grant-rules.ts';
import type { TokenDeps } from './token-deps.ts';

/** When the caller's token expires. Undefined if it never expires, and for services, which have no token. */
export async function getCallerExpiry({ tokens }: Pick<TokenDeps, 'tokens'>, principal: Principal): Promise<number | undefined> {
  const token = await tokens.for(principal).get(getTokenId(principal.client));
  return isLive(token) && getClientId(token) === principal.client ? token.expiresAt : undefined;
}
