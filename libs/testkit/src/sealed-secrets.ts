import type { Handler } from '@switchyard/bus';
import { createSecretSealer } from '@switchyard/service-kit';

/** A secrets service that knows these, and seals them as the real one does. */
export function resolveSecrets(known: Readonly<Record<string, string>>): Handler<'secrets.resolve'> {
  const sealFor = createSecretSealer();
  return ({ name, to }) => {
    const value = known[name];
    return { value: value === undefined ? null : sealFor(name, value, to) };
  };
}
