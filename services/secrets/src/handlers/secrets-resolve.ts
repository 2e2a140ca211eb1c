import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { encryptSecret, StartError, type Variables } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import type { KeyOrigins } from '../values/key-origins.ts';
import { hideValue } from '@switchyard/telemetry';
import type { OpenedValues } from '../values/secret-values.ts';
import { readValue } from '../values/read-value.ts';
import { checkReader, createTeller, isHouseSecret, type Allowed } from '../values/secret-access.ts';

interface Given {
  values: OpenedValues;
  env: Variables;
  allowed: Allowed;
  origins: Pick<KeyOrigins, 'check'>;
  store: Pick<Store, 'now'>;
}

/**
 * Returns a secret, encrypted to the calling process. A stored value takes precedence over the environment and over the file that
 * `<NAME>_FILE` names. Errors contain the name of the secret and never the path of its file.
 */
export function secretsResolve({ values, env, allowed, origins, store }: Given): Handler<'secrets.resolve'> {
  const tell = createTeller(store);

  return async ({ name, origin, to }, ctx) => {
    try {
      if (isHouseSecret(name)) throw new ServiceError('PERMISSION_DENIED', `${name} cannot be read by services`);
      checkReader(ctx.principal, name, allowed);
      if (origin !== undefined) await origins.check(name, origin);
      const value = await readValue({ values, env }, name);
      if (value !== undefined) hideValue(value);
      tell(ctx, name, value === undefined ? 'not_found' : 'success');
      return { value: value === undefined ? null : await encryptSecret(name, value, to) };
    } catch (err) {
      if (err instanceof ServiceError && err.code === 'PERMISSION_DENIED') tell(ctx, name, 'denied');
      if (!(err instanceof StartError)) throw err;
      ctx.log.error({ err, name }, 'failed to read a secret');
      throw new ServiceError('FAILED_PRECONDITION', `The secret ${name} cannot be read. Check ${name} and ${name}_FILE.`, { cause: err });
    }
  };
}
