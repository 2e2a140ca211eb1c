import type { Handler } from '@switchyard/bus';
import { changeToken } from '../tokens/change-token.ts';
import { endToken } from '../tokens/end-token.ts';
import type { TokensGiven } from '../tokens/tokens-given.ts';

/** Ends a token: once this answered, no live gateway accepts it. */
export function tokensRevoke(given: TokensGiven): Handler<'tokens.revoke'> {
  return async ({ id }, { principal, log }) => {
    const { scopes } = await changeToken(given, { id, principal, verb: 'revoked' }, (mine, token) =>
      endToken(mine, token, given.store.now()),
    );
    log.audit({ client: principal.client, tenant: principal.tenant, tokenId: id, scopes }, 'a token was revoked');
    await given.projector.withdraw(principal.tenant, id);
    return { id, revoked: true };
  };
}
