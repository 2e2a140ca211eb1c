import type { Handler } from '@switchyard/bus';
import { encryptSecret, STORAGE_KEY_NAME } from '@switchyard/service-kit';
import type { SecretValues } from '../values/secret-values.ts';

/** Returns the storage key of the calling service. The bus admits only the callers that the contract names. */
export function secretsStorageKey({ values }: { values: Pick<SecretValues, 'deriveStorageKey'> }): Handler<'secrets.storageKey'> {
  return async ({ to }) => {
    const key = values.deriveStorageKey(to.service);
    return { key: key === undefined ? null : await encryptSecret(STORAGE_KEY_NAME, Buffer.from(key).toString('base64url'), to) };
  };
}
