import { readSecret, type Variables } from '@switchyard/service-kit';
import type { SecretValues } from './secret-values.ts';

/** Reads a secret from storage, else from the environment, else from the file that `<NAME>_FILE` names. */
export async function readValue(
  { values, env }: { values: Pick<SecretValues, 'storages' | 'requiresEncryption'>; env: Variables },
  name: string,
): Promise<string | undefined> {
  const encryptedOnly = values.requiresEncryption(name);
  for (const storage of values.storages) {
    if (encryptedOnly && storage.storage !== 'encrypted') continue;
    const value = await storage.get(name);
    if (value !== undefined) return value;
  }
  return encryptedOnly ? undefined : readSecret(env, name);
}
