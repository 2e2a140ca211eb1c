import type { Handler } from '@switchyard/bus';
import { changeToken } from '../tokens/change-token.ts';
import { revokeToken } from '../tokens/revoke-token.ts';
import { resolveTenant } from '../tokens/target-tenant.ts';
import type { TokenDeps } from '../tokens/token-deps.ts';

/** Revokes a token. After the answer, no live gateway accepts it. */
export function tokensRevoke(deps: TokenDeps): Handler<'tokens.revoke'> {
  return async ({ id, tenant: requestedTenant }, { principal, log }) => {
    const tenant = resolveTenant(principal, requestedTenant, deps.tenantId);
    const isAlone = tenant !== principal.tenant;
    const { scopes } = await changeToken(deps, { id, principal, tenant, verb: 'revoked' }, (documents, token) =>
      revokeToken(documents, token, { now: deps.store.now(), alone: isAlone }),
    );
    log.audit({ client: principal.client, tenant, tokenId: id, scopes }, 'a token was revoked');
    await deps.projector.withdraw(tenant, id);
    return { id, revoked: true };
  };
}
