import type { Handler } from '@switchyard/bus';
import type { LiveToken } from '../documents/collections.ts';
import { iterateLiveTokens } from '../tokens/live-tokens.ts';
import { readGrant } from '../tokens/grant-rules.ts';
import { resolveTenant } from '../tokens/target-tenant.ts';
import type { TokenDeps } from '../tokens/token-deps.ts';

const MAX_LISTED_TOKENS = 10_000;

/** Lists the grant of each token and where it is declared, never its secret. */
export function tokensList({ tokens, store, tenantId }: TokenDeps): Handler<'tokens.list'> {
  return async ({ tenant }, { principal }) => {
    const documents = tokens.for({ tenant: resolveTenant(principal, tenant, tenantId) });
    const listed: ReturnType<typeof describeToken>[] = [];
    for await (const token of iterateLiveTokens(documents, store.now())) if (listed.push(describeToken(token)) === MAX_LISTED_TOKENS) break;
    return { tokens: listed };
  };
}

function describeToken(token: LiveToken) {
  const { id, createdAt, declared } = token;
  const { expiresAt, ...grant } = readGrant(token);
  return {
    id,
    ...grant,
    createdAt: new Date(createdAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    ...(declared === undefined ? {} : { declared }),
  };
}
