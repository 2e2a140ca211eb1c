import type { Handler } from '@switchyard/bus';
import type { LiveToken } from '../documents/collections.ts';
import { liveTokens } from '../tokens/live-tokens.ts';
import { grantOf } from '../tokens/grant-rules.ts';
import { tenantMeant } from '../tokens/target-tenant.ts';
import type { TokensGiven } from '../tokens/token-deps.ts';

const MOST = 10_000;

/** Lists the grant of each token and where it is declared, never its secret. */
export function tokensList({ tokens, store, tenantId }: TokensGiven): Handler<'tokens.list'> {
  return async ({ tenant }, { principal }) => {
    const mine = tokens.for({ tenant: tenantMeant(principal, tenant, tenantId) });
    const listed: ReturnType<typeof shown>[] = [];
    for await (const token of liveTokens(mine, store.now())) if (listed.push(shown(token)) === MOST) break;
    return { tokens: listed };
  };
}

function shown(token: LiveToken) {
  const { id, createdAt, declared } = token;
  const { expiresAt, ...granted } = grantOf(token);
  return {
    id,
    ...granted,
    createdAt: new Date(createdAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    ...(declared === undefined ? {} : { declared }),
  };
}
