import { ServiceError, type Sections } from '@switchyard/contracts';
import { matchesGlob } from '@switchyard/security';
import { referencesIn, type Tree } from '@switchyard/service-kit';

/** Names of variables that hold what opens something, or where something lies: no star means them. */
const TELLING = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PRIVATE|COOKIE|DSN|URI|URL|CONN/i;

/**
 * What speaks against the variables that a write names and that were not named there before. Whoever may write a setting sees what
 * comes of it, in an error or in what an agent says, and so what the environment of the services holds.
 */
export function checkReferences({ references }: Sections['config'], before: Tree, after: Tree): ServiceError[] {
  const known = new Map(referencesIn(before));
  const fresh = referencesIn(after).filter(([path, name]) => known.get(path) !== name);
  return fresh.filter(([, name]) => !isAllowed(references, name)).map(([path, name]) => refused(path, name));
}

function isAllowed(references: readonly string[], name: string): boolean {
  return references.includes(name) || (!TELLING.test(name) && references.some((pattern) => matchesGlob(pattern, name)));
}

function refused(path: string, name: string): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `${path} names the variable ${name}, which config.references does not: the operator adds it there, in a file or the environment. ` +
      'A secret is not written into a setting but set with env.set, and named where a setting asks for the name of a secret.',
    { details: { reason: 'REFERENCE_NOT_ALLOWED' } },
  );
}
