import type { Logger } from '@switchyard/telemetry';
import { isLive, type TokenDocument } from '../documents/collections.ts';
import { tombstone } from './revoke-token.ts';
import type { TokensGiven } from './token-deps.ts';

const SWEEP_EVERY_MS = 60_000;
const SWEPT_AT_ONCE = 500;

type Expired = TokenDocument & { tenant: string };

interface Given extends TokensGiven {
  log: Pick<Logger, 'audit' | 'error'>;
  everyMs?: number;
}

/**
 * Turns expired tokens into tombstones, so that their ids can be reused. Gateways check the expiry themselves and do not depend on
 * this sweep. Declared tokens are kept. Every replica sweeps; each write checks the version of the token.
 */
export function endExpired({ everyMs = SWEEP_EVERY_MS, ...given }: Given): AsyncDisposable {
  let sweeping: Promise<void> | undefined;
  const timer = setInterval(() => {
    sweeping ??= sweepExpired(given)
      .catch((err: unknown) => given.log.error({ err }, 'failed to remove expired tokens; retrying in a minute'))
      .finally(() => (sweeping = undefined));
  }, everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

export async function sweepExpired(given: Given): Promise<void> {
  const { items } = await given.tokens.system().find({ expiresAt: { lte: given.store.now() } }, { limit: SWEPT_AT_ONCE });
  for (const token of items) await end(given, token);
}

/** Retires the secret first, so that it can never be declared again. */
async function end({ tokens, spent, store, projector, log }: Given, { tenant, ...token }: Expired): Promise<boolean> {
  if (!isLive(token) || token.declared !== undefined) return false;
  const { id, ver, hash } = token;
  await spent.for({ tenant }).replace({ hash, id, at: store.now() });
  const ended = await tokens.for({ tenant }).update({ id, ver, declared: null }, tombstone(store.now()));
  if (!ended) return false;
  log.audit({ client: 'the clock', tenant, tokenId: id }, 'a token expired');
  await projector.withdraw(tenant, id);
  return true;
}
