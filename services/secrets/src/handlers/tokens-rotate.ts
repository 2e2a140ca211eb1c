import type { Handler } from '@switchyard/bus';
import { hashToken, mintToken } from '@switchyard/security';
import { changeToken } from '../tokens/change-token.ts';
import { ownExpiry } from '../tokens/caller-expiry.ts';
import { refuseLimited, refuseOutliving } from '../tokens/grant-rules.ts';
import { tenantMeant } from '../tokens/target-tenant.ts';
import type { TokensGiven } from '../tokens/token-deps.ts';

/** Replaces the secret in one write, so that exactly one secret is valid at any time. */
export function tokensRotate(given: TokensGiven): Handler<'tokens.rotate'> {
  return async ({ id, tenant: asked }, { principal, log }) => {
    refuseLimited(principal);
    const tenant = tenantMeant(principal, asked, given.tenantId);
    const ownEnd = await ownExpiry(given, principal);
    const { token: secret } = mintToken('pat');
    const { scopes } = await changeToken(given, { id, principal, tenant, verb: 'rotated' }, async (mine, { ver, expiresAt }) => {
      refuseOutliving(expiresAt, ownEnd);
      const change = { set: { hash: hashToken(secret), rotatedAt: given.store.now() }, inc: { ver: 1 } };
      return (await mine.update({ id, ver, declared: null }, change)) !== null;
    });
    log.audit({ client: principal.client, tenant, tokenId: id, scopes }, 'a token was rotated');
    await given.projector.publish(tenant, id);
    return { id, secret, scopes, rotated: true };
  };
}
