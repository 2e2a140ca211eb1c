import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { readSecret, StartError } from '@switchyard/service-kit';

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment, or the file that `<NAME>_FILE` points to. What cannot be read is said by name; where it lies is not for every caller. */
export function secretsResolve(env: Environment): Handler<'secrets.resolve'> {
  return async ({ name }, { log }) => {
    try {
      return { value: (await readSecret(env, name)) ?? null };
    } catch (err) {
      if (!(err instanceof StartError)) throw err;
      log.error({ err, name }, 'a secret cannot be read');
      throw new ServiceError('FAILED_PRECONDITION', `the secret ${name} cannot be read: see to ${name} and ${name}_FILE`, { cause: err });
    }
  };
}
