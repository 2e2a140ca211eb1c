import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { encryptSecret, StartError, type Variables } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import type { SecretBindings } from '../values/secret-bindings.ts';
import { hideValue } from '@switchyard/telemetry';
import type { SecretValues } from '../values/secret-values.ts';
import { readValue } from '../values/read-value.ts';
import { checkReadAccess, createAccessReporter, isReservedName, type AgentAllowlist } from '../values/secret-access.ts';

interface SecretsResolveDeps {
  values: SecretValues;
  env: Variables;
  allowlist: AgentAllowlist;
  tenantId: string;
  bindings: Pick<SecretBindings, 'check'>;
  store: Pick<Store, 'now'>;
}

/**
 * Returns a secret, encrypted to the calling process. A stored value takes precedence over the environment and over the file that
 * `<NAME>_FILE` names. Errors contain the name of the secret and never the path of its file.
 */
export function secretsResolve({ values, env, allowlist, tenantId, bindings, store }: SecretsResolveDeps): Handler<'secrets.resolve'> {
  const report = createAccessReporter(store);

  return async ({ name, origin, purpose, to }, ctx) => {
    try {
      if (isReservedName(name)) throw new ServiceError('PERMISSION_DENIED', `${name} cannot be read by services`);
      checkReadAccess(ctx.principal, name, { allowlist, tenantId });
      // The browser passes on the name that its caller chose.
      if (purpose === 'browser' && ctx.principal.tenant !== tenantId) {
        throw new ServiceError('PERMISSION_DENIED', `${name} belongs to another tenant`, { details: { reason: 'SECRET_NOT_ALLOWED' } });
      }
      await bindings.check(name, { origin, purpose: purpose ?? (origin === undefined ? undefined : 'provider') });
      const value = await readValue({ values, env }, name);
      if (value !== undefined) hideValue(value);
      report(ctx, name, value === undefined ? 'not_found' : 'success');
      return { value: value === undefined ? null : await encryptSecret(name, value, to) };
    } catch (err) {
      if (err instanceof ServiceError && err.code === 'PERMISSION_DENIED') report(ctx, name, 'denied');
      if (!(err instanceof StartError)) throw err;
      ctx.log.error({ err, name }, 'failed to read a secret');
      throw new ServiceError('FAILED_PRECONDITION', `The secret ${name} cannot be read. Check ${name} and ${name}_FILE.`, { cause: err });
    }
  };
}
