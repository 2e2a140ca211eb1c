import type { Handler } from '@switchyard/bus';
import { hashToken, mintToken } from '@switchyard/security';
import { changeToken } from '../tokens/change-token.ts';
import { refuseLimited } from '../tokens/rules.ts';
import type { TokensGiven } from '../tokens/tokens-given.ts';

/** One write puts the new secret in place of the old: at no instant are there two, or none. */
export function tokensRotate(given: TokensGiven): Handler<'tokens.rotate'> {
  return async ({ id }, { principal, log }) => {
    refuseLimited(principal);
    const { token: secret } = mintToken('pat');
    const { scopes } = await changeToken(given, { id, principal, verb: 'rotated' }, async (mine, { ver }) => {
      const change = { set: { hash: hashToken(secret), rotatedAt: given.store.now() }, inc: { ver: 1 } };
      return (await mine.update({ id, ver, declared: null }, change)) !== null;
    });
    log.audit({ client: principal.client, tenant: principal.tenant, tokenId: id, scopes }, 'a token was rotated');
    await given.projector.publish(principal.tenant, id);
    return { id, secret, scopes, rotated: true };
  };
}
