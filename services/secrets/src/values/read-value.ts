import { readSecret, type Variables } from '@switchyard/service-kit';
import type { OpenedValues } from './secret-values.ts';

/** Reads a secret from storage, else from the environment, else from the file that `<NAME>_FILE` names. */
export async function readValue(
  { values, env }: { values: Pick<OpenedValues, 'places' | 'mustBeSealed'>; env: Variables },
  name: string,
): Promise<string | undefined> {
  const onlySealed = values.mustBeSealed(name);
  for (const place of values.places) {
    if (onlySealed && place.storage !== 'encrypted') continue;
    const value = await place.get(name);
    if (value !== undefined) return value;
  }
  return onlySealed ? undefined : readSecret(env, name);
}
