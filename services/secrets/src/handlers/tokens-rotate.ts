import type { Handler } from '@switchyard/bus';
import { hashToken, mintToken } from '@switchyard/security';
import { changeToken } from '../tokens/change-token.ts';
import { getCallerExpiry } from '../tokens/caller-expiry.ts';
import { rejectLimitedCaller, rejectLongerLifetime } from '../tokens/grant-rules.ts';
import { resolveTenant } from '../tokens/target-tenant.ts';
import type { TokenDeps } from '../tokens/token-deps.ts';

/** Replaces the secret in one write, so that exactly one secret is valid at any time. */
export function tokensRotate(deps: TokenDeps): Handler<'tokens.rotate'> {
  return async ({ id, tenant: requestedTenant }, { principal, log }) => {
    rejectLimitedCaller(principal);
    const tenant = resolveTenant(principal, requestedTenant, deps.tenantId);
    const callerExpiry = await getCallerExpiry(deps, principal);
    const { token: secret } = mintToken('pat');
    const { scopes } = await changeToken(deps, { id, principal, tenant, verb: 'rotated' }, async (documents, { ver, expiresAt }) => {
      rejectLongerLifetime(expiresAt, callerExpiry);
      const change = { set: { hash: hashToken(secret), rotatedAt: deps.store.now() }, inc: { ver: 1 } };
      return (await documents.update({ id, ver, declared: null }, change)) !== null;
    });
    log.audit({ client: principal.client, tenant, tokenId: id, scopes }, 'a token was rotated');
    await deps.projector.publish(tenant, id);
    return { id, secret, scopes, rotated: true };
  };
}
