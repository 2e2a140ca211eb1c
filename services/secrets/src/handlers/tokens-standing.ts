import type { Handler } from '@switchyard/bus';
import { isScopeSubset, type StoredPrincipal, type TokenStanding } from '@switchyard/contracts';
import { isLive, type TokenDocument } from '../documents/collections.ts';
import { getClientId, getTokenId, isExpired } from '../tokens/grant-rules.ts';
import type { TokenDeps } from '../tokens/token-deps.ts';

/** Compares stored principals of the caller's tenant with their tokens. */
export function tokensStanding({ tokens, store }: Pick<TokenDeps, 'tokens' | 'store'>): Handler<'tokens.standing'> {
  return async ({ principals }, { principal }) => {
    const ids = [...new Set(principals.map(({ client }) => getTokenId(client)))];
    const { items } = await tokens.for(principal).find({ id: { in: ids } }, { limit: ids.length });
    const byClient = new Map(
      items.filter((token) => isLive(token) && !isExpired(token, store.now())).map((token) => [getClientId(token), token]),
    );
    return { standings: principals.map((stored) => compare(stored, byClient.get(stored.client))) };
  };
}

function compare(stored: StoredPrincipal, token: TokenDocument | undefined): TokenStanding {
  if (!token) return { state: 'gone' };
  const kept = {
    scopes: isScopeSubset(stored.scopes, token.scopes),
    sessions: token.sessions !== 'own' || stored.sessions === 'own',
    agents: token.agents === undefined || (stored.agents?.every((agent) => token.agents?.includes(agent)) ?? false),
    budgets: isWithin(stored.budgets, token.budgets),
  };
  const rights = (Object.keys(kept) as (keyof typeof kept)[]).filter((right) => !kept[right]);
  return rights.length === 0 ? { state: 'current' } : { state: 'narrowed', rights };
}

/** Whether no stored limit is higher than the limit that the token has now. */
function isWithin(stored: StoredPrincipal['budgets'], now: TokenDocument['budgets'] = {}): boolean {
  return (Object.keys(now) as (keyof typeof now)[]).every((limit) => (stored?.[limit] ?? Infinity) <= (now[limit] ?? Infinity));
}
