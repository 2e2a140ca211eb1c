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
 * What was set while everything ran, else the environment, else the file that `<NAME>_FILE` points to. What cannot be read is said
 * by name; where it lies is not for every caller. A value leaves this process sealed to who asked.
 */
export function secretsResolve({ values, env, allowed, origins, store }: Given): Handler<'secrets.resolve'> {
  const tell = createTeller(store);

  return async ({ name, origin, to }, ctx) => {
    try {
      if (isHouseSecret(name)) throw new ServiceError('PERMISSION_DENIED', `${name} is read by no service`);
      checkReader(ctx.principal, name, allowed);
      if (origin !== undefined) await origins.check(name, origin);
      const value = await readValue({ values, env }, name);
      if (value !== undefined) hideValue(value);
      tell(ctx, name, value === undefined ? 'not_found' : 'success');
      return { value: value === undefined ? null : await encryptSecret(name, value, to) };
    } catch (err) {
      if (err instanceof ServiceError && err.code === 'PERMISSION_DENIED') tell(ctx, name, 'denied');
      if (!(err instanceof StartError)) throw err;
      ctx.log.error({ err, name }, 'a secret cannot be read');
      throw new ServiceError('FAILED_PRECONDITION', `the secret ${name} cannot be read: see to ${name} and ${name}_FILE`, { cause: err });
    }
  };
}
