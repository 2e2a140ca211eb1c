import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { hashToken, mintToken } from '@switchyard/security';
import { ENVIRONMENT_TOKEN } from '../tokens/declarations.ts';
import { makeToken } from '../tokens/make-token.ts';
import { checkGrant, contradiction, refuseLimited } from '../tokens/rules.ts';
import type { TokensGiven } from '../tokens/tokens-given.ts';

/** The secret is in this answer and nowhere else. */
export function tokensCreate({ tokens, store, projector }: TokensGiven): Handler<'tokens.create'> {
  return async ({ id, scopes, sessions, lenient, budgets, mcpClient }, { principal, log }) => {
    refuseLimited(principal);
    checkGrant({ scopes, sessions }, principal);
    const mcp = mcpClient ? { mcpClient } : {};
    const wrong = contradiction({ scopes, ...mcp });
    if (wrong !== undefined) throw new ServiceError('INVALID_ARGUMENT', `Invalid params: ${wrong}`);
    if (id === ENVIRONMENT_TOKEN) throw reserved();
    const { token } = mintToken('pat');
    const granted = { scopes, sessions, lenient, ...(budgets && { budgets }), ...mcp };
    const fields = { id, hash: hashToken(token), ...granted, createdBy: principal.client };
    const made = await makeToken(tokens.for(principal), fields, store.now());
    if (!made) throw new ServiceError('ALREADY_EXISTS', `There is a token ${id} already; rotate it, or choose another id.`);
    log.audit({ client: principal.client, tenant: principal.tenant, tokenId: id, ...granted }, 'a token was created');
    await projector.publish(principal.tenant, id);
    return { id, secret: token, scopes, createdAt: new Date(made.createdAt).toISOString() };
  };
}

/** Whoever had the id could keep the operator from coming back in. */
function reserved(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The id ${ENVIRONMENT_TOKEN} is kept for SWITCHYARD_TOKEN; choose another.`, {
    details: { reason: 'RESERVED' },
  });
}
