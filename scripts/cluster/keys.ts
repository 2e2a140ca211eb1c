import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { keepPrivately, readPrivately } from '@switchyard/launcher';

const BYTES = 32;

/** Returns the password of a name. It is generated once and stored with mode 0600, so that the next start finds it. */
export function openKeys(dir: string): (name: string) => string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return (name) => {
    const kept = readPrivately(dir, name);
    if (kept !== undefined) return kept;
    const made = `k${randomBytes(BYTES).toString('hex')}`; // nats-server parses a value that begins with a digit as a number
    keepPrivately(dir, name, made);
    return made;
  };
}
