import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';
import type { TokenProjector } from '../tokens/projection.ts';
import { isAdmin, noSuchToken } from '../tokens/rules.ts';

/** Ends a token: once this answered, no live gateway accepts it. */
export function tokensRevoke(tokens: Collection<TokenDocument>, projector: TokenProjector): Handler<'tokens.revoke'> {
  return async ({ id }, ctx) => {
    const mine = tokens.for(ctx.principal);
    const token = await mine.get(id);
    if (!token) throw noSuchToken(id);
    if (isAdmin(token.scopes)) await keepOneAdmin(mine, id);
    if ((await mine.remove({ id })) === 0) throw noSuchToken(id);
    await projector.withdraw(ctx.principal.tenant, id);
    return { id, revoked: true };
  };
}

/** Without a token of scope admin nobody could ever make another. */
async function keepOneAdmin(tokens: ReturnType<Collection<TokenDocument>['for']>, id: string): Promise<void> {
  const { items } = await tokens.find({}, { limit: 10_000 });
  if (items.some((token) => token.id !== id && isAdmin(token.scopes))) return;
  throw new ServiceError('FAILED_PRECONDITION', `${id} is the last token that may manage tokens; create another one first.`, {
    details: { reason: 'LAST_ADMIN' },
  });
}
