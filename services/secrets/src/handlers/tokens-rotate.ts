import type { Handler } from '@switchyard/bus';
import { hashToken, mintToken } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';
import type { TokenProjector } from '../tokens/projection.ts';
import { checkGrant, noSuchToken } from '../tokens/rules.ts';

/** One write puts the new secret in place of the old: at no instant are there two, or none. */
export function tokensRotate(tokens: Collection<TokenDocument>, store: Store, projector: TokenProjector): Handler<'tokens.rotate'> {
  return async ({ id }, ctx) => {
    const mine = tokens.for(ctx.principal);
    const present = await mine.get(id);
    if (!present) throw noSuchToken(id);
    checkGrant(present.scopes, ctx.principal);
    const { token } = mintToken('pat');
    const now = store.now();
    const rotated = await mine.update(
      { id },
      { set: { hash: hashToken(token), rotatedAt: now, ver: Math.max(now, present.ver + 1) }, if: { ver: present.ver } },
    );
    if (!rotated) throw noSuchToken(id);
    await projector.publish(ctx.principal.tenant, rotated);
    return { id, secret: token, scopes: rotated.scopes, rotated: true };
  };
}
