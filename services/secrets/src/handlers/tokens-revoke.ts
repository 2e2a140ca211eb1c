import type { Handler } from '@switchyard/bus';
import { changeToken } from '../tokens/change-token.ts';
import { endToken } from '../tokens/revoke-token.ts';
import { tenantMeant } from '../tokens/target-tenant.ts';
import type { TokensGiven } from '../tokens/token-deps.ts';

/** Revokes a token. After the answer, no live gateway accepts it. */
export function tokensRevoke(given: TokensGiven): Handler<'tokens.revoke'> {
  return async ({ id, tenant: asked }, { principal, log }) => {
    const tenant = tenantMeant(principal, asked, given.tenantId);
    const alone = tenant !== principal.tenant;
    const { scopes } = await changeToken(given, { id, principal, tenant, verb: 'revoked' }, (mine, token) =>
      endToken(mine, token, { now: given.store.now(), alone }),
    );
    log.audit({ client: principal.client, tenant, tokenId: id, scopes }, 'a token was revoked');
    await given.projector.withdraw(tenant, id);
    return { id, revoked: true };
  };
}
