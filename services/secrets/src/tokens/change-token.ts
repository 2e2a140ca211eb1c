import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { checkGrant, isExpired, noSuchToken, refuseDeclared } from './grant-rules.ts';
import type { TokensGiven } from './token-deps.ts';

const MAX_ATTEMPTS = 5;

interface Asked {
  id: string;
  principal: Principal;
  /** Whose token it is. */
  tenant: string;
  verb: 'rotated' | 'revoked';
}

/** Takes a token's secret away, where the caller may: `change` writes, and says whether the token was still as it was read. */
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
    await spent.for({ tenant }).replace({ hash: token.hash, id, at: store.now() }); // first: what ends must not be found unspent
    if (await change(mine, token)) return token;
  }
  throw new ServiceError('ABORTED', `the token ${id} is being changed by others; try again`);
}
