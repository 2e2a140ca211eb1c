import type { Logger } from '@switchyard/telemetry';
import { isLive, type TokenDocument } from '../documents/collections.ts';
import { createTombstone } from './revoke-token.ts';
import type { TokenDeps } from './token-deps.ts';

const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_BATCH_SIZE = 500;

type Expired = TokenDocument & { tenant: string };

interface ExpireTokensDeps extends TokenDeps {
  log: Pick<Logger, 'audit' | 'error'>;
  intervalMs?: number;
}

/**
 * Turns expired tokens into tombstones, so that their ids can be reused. Gateways check the expiry themselves and do not depend on
 * this sweep. Declared tokens are kept. Every replica sweeps; each write checks the version of the token.
 */
export function startTokenExpiry({ intervalMs = SWEEP_INTERVAL_MS, ...deps }: ExpireTokensDeps): AsyncDisposable {
  let sweeping: Promise<void> | undefined;
  const timer = setInterval(() => {
    sweeping ??= expireTokens(deps)
      .catch((err: unknown) => deps.log.error({ err }, 'failed to remove expired tokens; retrying in a minute'))
      .finally(() => (sweeping = undefined));
  }, intervalMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

export async function expireTokens(deps: ExpireTokensDeps): Promise<void> {
  const { items } = await deps.tokens.system().find({ expiresAt: { lte: deps.store.now() } }, { limit: SWEEP_BATCH_SIZE });
  for (const token of items) await expireToken(deps, token);
}

/** Retires the secret first, so that it can never be declared again. */
async function expireToken(
  { tokens, retiredSecrets, store, projector, log }: ExpireTokensDeps,
  { tenant, ...token }: Expired,
): Promise<boolean> {
  if (!isLive(token) || token.declared !== undefined) return false;
  const { id, ver, hash } = token;
  await retiredSecrets.for({ tenant }).replace({ hash, id, at: store.now() });
  const revoked = await tokens.for({ tenant }).update({ id, ver, declared: null }, createTombstone(store.now()));
  if (!revoked) return false;
  log.audit({ client: 'the clock', tenant, tokenId: id }, 'a token expired');
  await projector.withdraw(tenant, id);
  return true;
}
