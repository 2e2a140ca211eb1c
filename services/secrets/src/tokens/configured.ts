import { DEFAULT_TENANT, TokenId, type TokenScope } from '@switchyard/contracts';
import { hashToken, MIN_OPERATOR_TOKEN } from '@switchyard/security';
import type { Collection } from '@switchyard/store';
import type { TokenDocument } from '../data.ts';

export interface ConfiguredToken {
  id: string;
  secret: string;
  scopes: TokenScope[];
}

/** The id under which `SWITCHYARD_TOKEN` is stored. */
export const ENVIRONMENT_TOKEN = 'env';

/** Stores tokens that the operator named, at each start: a changed secret takes the place of the old one. */
export async function storeConfigured(
  tokens: Collection<TokenDocument>,
  configured: readonly ConfiguredToken[],
  now: number,
): Promise<void> {
  const mine = tokens.for({ tenant: DEFAULT_TENANT });
  for (const { id, secret, scopes } of configured) {
    if (secret.length < MIN_OPERATOR_TOKEN) {
      throw new Error(`The token "${id}" needs at least ${MIN_OPERATOR_TOKEN} characters; let one be minted, or choose a longer one.`);
    }
    const hash = hashToken(secret);
    const present = await mine.get(TokenId.parse(id));
    if (present && present.hash === hash && String(present.scopes) === String(scopes)) continue;
    const ver = Math.max(now, (present?.ver ?? 0) + 1);
    await mine.replace({ id, hash, scopes, ver, createdAt: present?.createdAt ?? now, createdBy: 'configuration' });
  }
}
