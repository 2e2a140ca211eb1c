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
 * Makes tombstones of tokens that have expired, as if they were revoked, so that their ids are free again. The edge needs none of
 * this: it reads the time itself. A declared one stays as it is declared. Every replica does it, and each write is guarded.
 */
export function endExpired({ everyMs = SWEEP_EVERY_MS, ...given }: Given): AsyncDisposable {
  let sweeping: Promise<void> | undefined;
  const timer = setInterval(() => {
    sweeping ??= sweepExpired(given)
      .catch((err: unknown) => given.log.error({ err }, 'tokens that expired are not taken away yet; it is tried again in a minute'))
      .finally(() => (sweeping = undefined));
  }, everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

/** One look at what there is. */
export async function sweepExpired(given: Given): Promise<void> {
  const { items } = await given.tokens.system().find({ expiresAt: { lte: given.store.now() } }, { limit: SWEPT_AT_ONCE });
  for (const token of items) await end(given, token);
}

/** Its secret is spent first: what ends must not be found unspent. */
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
