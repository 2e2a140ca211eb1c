import { REDACTED } from '@switchyard/contracts';
import { StartError } from '../variables/start-error.ts';

/** Somebody copied what was shown in place of a secret: with it as the secret, everybody would know it. */
export function refuseShownSecrets(tree: unknown, place: (path: string) => string, above = ''): void {
  if (tree === REDACTED) {
    const what = `expected the secret, got the mark that stands for one that is not shown${place(above)}`;
    throw new StartError(`Config validation failed: ${above}: ${what}`);
  }
  if (typeof tree !== 'object' || tree === null) return;
  for (const [key, inner] of Object.entries(tree)) refuseShownSecrets(inner, place, above === '' ? key : `${above}.${key}`);
}
