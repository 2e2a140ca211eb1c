import type { Handler } from '@switchyard/bus';
import { encryptSecret, STORAGE_KEY_NAME } from '@switchyard/service-kit';

/** Returns a `secrets.resolve` handler with these values; it encrypts them like the real service. */
export function resolveSecrets(values: Readonly<Record<string, string>>): Handler<'secrets.resolve'> {
  return async ({ name, to }) => {
    const value = values[name];
    return { value: value === undefined ? null : await encryptSecret(name, value, to) };
  };
}

/** Returns a `secrets.storageKey` handler with this key of 32 bytes; without one it answers as an installation without a master key. */
export function serveStorageKey(key: Uint8Array | undefined): Handler<'secrets.storageKey'> {
  return async ({ to }) => ({
    key: key === undefined ? null : await encryptSecret(STORAGE_KEY_NAME, Buffer.from(key).toString('base64url'), to),
  });
}
