import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Documents } from '@switchyard/store';
import { isLive, type LiveToken, type TokenDocument } from '../documents/collections.ts';
import { checkGrant, isExpired, tokenNotFound, rejectDeclared } from './grant-rules.ts';
import type { TokenDeps } from './token-deps.ts';

const MAX_ATTEMPTS = 5;

interface ChangeTokenOptions {
  id: string;
  principal: Principal;
  /** The tenant of the token. */
  tenant: string;
  verb: 'rotated' | 'revoked';
}

/**
 * Rotates or revokes a token after checking the caller's rights. `change` writes and returns false if the token has changed since it
 * was read; the change is then retried.
 */
export async function changeToken(
  { tokens, retiredSecrets, store }: TokenDeps,
  { id, principal, tenant, verb }: ChangeTokenOptions,
  change: (documents: Documents<TokenDocument>, token: LiveToken) => Promise<boolean>,
): Promise<LiveToken> {
  const documents = tokens.for({ tenant });
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const token = await documents.get(id);
    if (!isLive(token) || isExpired(token, store.now())) throw tokenNotFound(id);
    checkGrant(token, principal);
    rejectDeclared(token, verb);
    await retiredSecrets.for({ tenant }).replace({ hash: token.hash, id, at: store.now() }); // before the change: a retired secret must never be declared again
    if (await change(documents, token)) return token;
  }
  throw new ServiceError('ABORTED', `The token ${id} is being changed by other callers. Try again.`);
}
