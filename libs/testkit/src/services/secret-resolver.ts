import type { Handler } from '@switchyard/bus';
import { encryptSecret } from '@switchyard/service-kit';

/** Handler of a secrets service that has these values and encrypts them as the real service does. */
export function resolveSecrets(values: Readonly<Record<string, string>>): Handler<'secrets.resolve'> {
  return async ({ name, to }) => {
    const value = values[name];
    return { value: value === undefined ? null : await encryptSecret(name, value, to) };
  };
}
