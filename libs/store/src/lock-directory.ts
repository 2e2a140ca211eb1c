import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { createPrivately } from './sqlite/database.ts';

/** Held until it is disposed of or the process ends. */
export interface DirectoryLock extends Disposable {
  readonly dir: string;
}

const FILE = 'lock.db';
/** Locks live as long as the process, even where the caller keeps no reference to them. */
const held = new Set<DatabaseSync>();

/**
 * Makes this process the only one that works in a directory, or says who does. The operating system lets go of the lock when its
 * holder dies, however it dies, so a stale one is taken over without guessing whether a process id still means the same process.
 */
export function lockDirectory(dir: string): DirectoryLock {
  const file = join(dir, FILE);
  createPrivately(dir, file);
  const db = new DatabaseSync(file, { timeout: 250 });
  try {
    db.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
  } catch (cause) {
    const holder = holderOf(db);
    db.close();
    throw new ServiceError('FAILED_PRECONDITION', refusal(dir, holder), { details: { reason: 'DATA_IN_USE', pid: holder }, cause });
  }
  held.add(db);
  return {
    dir,
    [Symbol.dispose]() {
      if (held.delete(db)) db.close();
    },
  };
}

function holderOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

function refusal(dir: string, holder: number): string {
  return `the data directory ${dir} is in use by process ${holder}; stop it (kill ${holder}) or choose another directory`;
}
