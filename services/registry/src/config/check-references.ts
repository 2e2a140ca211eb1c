import { ServiceError, type Sections } from '@switchyard/contracts';
import { matchesGlob } from '@switchyard/security';
import { referencesIn, type Tree } from '@switchyard/service-kit';

/** Names of variables that usually contain credentials or addresses. A pattern with a star does not allow them. */
const SENSITIVE_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|PRIVATE|COOKIE|DSN|URI|URL|CONN/i;

/**
 * Rejects new references to variables that `config.references` does not allow. A caller who may write settings could otherwise read
 * the environment of the services through errors or answers of agents.
 */
export function checkReferences({ references }: Sections['config'], before: Tree, after: Tree): ServiceError[] {
  const knownReferences = new Map(referencesIn(before));
  const newReferences = referencesIn(after).filter(([path, name]) => knownReferences.get(path) !== name);
  return newReferences.filter(([, name]) => !isAllowed(references, name)).map(([path, name]) => referenceNotAllowed(path, name));
}

function isAllowed(references: readonly string[], name: string): boolean {
  return references.includes(name) || (!SENSITIVE_NAME.test(name) && references.some((pattern) => matchesGlob(pattern, name)));
}

function referenceNotAllowed(path: string, name: string): ServiceError {
  return new ServiceError(
    'FAILED_PRECONDITION',
    `${path} references the variable ${name}, which config.references does not allow. The operator can add it in a file or the environment. ` +
      'For a secret, use env.set and the setting that expects the name of a secret.',
    { details: { reason: 'REFERENCE_NOT_ALLOWED' } },
  );
}
