import type { Handler } from '@switchyard/bus';
import { readSecret } from '@switchyard/service-kit';

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment, or the file that `<NAME>_FILE` points to. */
export function secretsResolve(env: Environment): Handler<'secrets.resolve'> {
  return async ({ name }) => ({ value: (await readSecret(env, name)) ?? null });
}
