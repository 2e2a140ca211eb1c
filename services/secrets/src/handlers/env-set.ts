import type { Bus, Handler } from '@switchyard/bus';
import { SECRETS_BUCKET, SECRETS_CHANGED, ServiceError } from '@switchyard/contracts';
import type { Store } from '@switchyard/store';
import { hideValue } from '@switchyard/telemetry';
import type { SecretBindings } from '../values/secret-bindings.ts';
import type { SecretValues } from '../values/secret-values.ts';
import type { RateLimit } from '../values/rate-limit.ts';
import { isReservedName } from '../values/secret-access.ts';
import { requireOperator } from '../values/require-operator.ts';

const MAX_CALLS_PER_MINUTE = 5;

interface EnvSetDeps {
  values: SecretValues;
  bindings: Pick<SecretBindings, 'resolve' | 'bind'>;
  rateLimit: RateLimit;
  tenantId: string;
  store: Pick<Store, 'now'>;
  bus: Pick<Bus, 'kv'>;
}

/** Stores a secret and tells every process to drop its cached values. No process restarts. */
export function envSet({ values, bindings, rateLimit, tenantId, store, bus }: EnvSetDeps): Handler<'env.set'> {
  return async ({ key, value, purpose, origins }, ctx) => {
    const { principal, log } = ctx;
    requireOperator(principal, tenantId);
    hideValue(value);
    if (isReservedName(key)) throw reservedName(key);
    const binding = bindings.resolve(key, { purpose, origins });
    const storage = values.getWritableStorage(key);
    await rateLimit(principal, 'env.set', MAX_CALLS_PER_MINUTE);
    const action = await storage.set(key, value);
    if (binding !== undefined) await bindings.bind(key, binding); // after the write: the old value never gets the new binding
    const { client, tenant } = principal;
    log.audit({ client, tenant, name: key, action, storage: storage.storage }, 'a secret was set');
    if (storage.storage === 'envfile') ctx.emit('secret:modified', { secretName: key, action, timestamp: store.now() });
    await (
      await bus.kv(SECRETS_BUCKET)
    )
      .put(SECRETS_CHANGED, Buffer.from(JSON.stringify({ at: store.now() })))
      .catch((err: unknown) => log.warn({ err }, 'failed to announce a new secret value; cached values expire within 30 s'));
    return { set: true, key, storage: storage.storage, restarting: true };
  };
}

function reservedName(key: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `${key} configures the installation itself. Set it in the environment and restart.`, {
    details: { reason: 'RESERVED' },
  });
}
