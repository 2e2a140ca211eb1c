import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { hashToken, mintToken } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';
import type { TokenProjector } from '../tokens/projection.ts';
import { checkGrant } from '../tokens/rules.ts';

/** The secret is in this answer and nowhere else. */
export function tokensCreate(tokens: Collection<TokenDocument>, store: Store, projector: TokenProjector): Handler<'tokens.create'> {
  return async ({ id, scopes }, ctx) => {
    checkGrant(scopes, ctx.principal);
    const { token } = mintToken('pat');
    const now = store.now();
    const document: TokenDocument = { id, hash: hashToken(token), scopes, ver: now, createdAt: now, createdBy: ctx.principal.client };
    await tokens
      .for(ctx.principal)
      .insert(document)
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
        throw new ServiceError('ALREADY_EXISTS', `There is a token ${id} already; rotate it, or choose another id.`);
      });
    await projector.publish(ctx.principal.tenant, document);
    return { id, secret: token, scopes, createdAt: new Date(now).toISOString() };
  };
}
