import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { keepPrivately, readPrivately } from '@switchyard/launcher';

const BYTES = 32;

/** Gives the password of a name: made once and kept for this user alone, so that the next start knows it too. */
export function openKeys(dir: string): (name: string) => string {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return (name) => {
    const kept = readPrivately(dir, name);
    if (kept !== undefined) return kept;
    const made = `k${randomBytes(BYTES).toString('hex')}`; // nats-server takes what begins with a digit for a number
    keepPrivately(dir, name, made);
    return made;
  };
}
