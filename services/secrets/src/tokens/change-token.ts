import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { checkGrant, isExpired, noSuchToken, refuseDeclared } from './grant-rules.ts';
import type { TokensGiven } from './token-deps.ts';

const MAX_ATTEMPTS = 5;

interface Asked {
  id: string;
  principal: Principal;
  /** The tenant of the token. */
  tenant: string;
  verb: 'rotated' | 'revoked';
}

/**
 * Rotates or revokes a token after checking the caller's rights. `change` writes and returns false if the token has changed since it
 * was read; the change is then retried.
 */
export async function changeToken(
  { tokens, spent, store }: TokensGiven,
  { id, principal, tenant, verb }: Asked,
  change: (mine: Documents<TokenDocument>, token: LiveToken) => Promise<boolean>,
): Promise<LiveToken> {
  const mine = tokens.for({ tenant });
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const token = await mine.get(id);
    if (!isLive(token) || isExpired(token, store.now())) throw noSuchToken(id);
    checkGrant(token, principal);
    refuseDeclared(token, verb);
    await spent.for({ tenant }).replace({ hash: token.hash, id, at: store.now() }); // before the change: a retired secret must never be declared again
    if (await change(mine, token)) return token;
  }
  throw new ServiceError('ABORTED', `The token ${id} is being changed by other callers. Try again.`);
}
