import type { Principal } from '@switchyard/contracts';
import { isLive } from '../documents/collections.ts';
import { clientOf } from './grant-rules.ts';
import type { TokensGiven } from './token-deps.ts';

/** When the caller's own token ends; undefined where it never does by itself, and for services, which have none. */
export async function ownExpiry({ tokens }: Pick<TokensGiven, 'tokens'>, principal: Principal): Promise<number | undefined> {
  const [id = ''] = principal.client.split('='); // what follows counts the tokens that had the id before
  const token = await tokens.for(principal).get(id);
  return isLive(token) && clientOf(token) === principal.client ? token.expiresAt : undefined;
}
