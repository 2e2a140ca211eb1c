import type { Handler } from '@switchyard/bus';
import { encryptSecret } from '@switchyard/service-kit';

/** Returns a `secrets.resolve` handler with these values; it encrypts them like the real service. */
export function resolveSecrets(values: Readonly<Record<string, string>>): Handler<'secrets.resolve'> {
  return async ({ name, to }) => {
    const value = values[name];
    return { value: value === undefined ? null : await encryptSecret(name, value, to) };
  };
}
