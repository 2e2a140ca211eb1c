import { readSecret, type Variables } from '@switchyard/service-kit';
import type { OpenedValues } from './open-values.ts';

/** What was set while everything ran, else the environment, else the file that `<NAME>_FILE` points to. */
export async function readValue(
  { values, env }: { values: Pick<OpenedValues, 'places'>; env: Variables },
  name: string,
): Promise<string | undefined> {
  for (const place of values.places) {
    const value = await place.get(name);
    if (value !== undefined) return value;
  }
  return readSecret(env, name);
}
