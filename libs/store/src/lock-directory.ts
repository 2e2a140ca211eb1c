import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { createPrivateFile } from './sqlite/database.ts';

/** Released on disposal or when the process ends. */
export interface DirectoryLock extends Disposable {
  readonly dir: string;
}

const FILE = 'lock.db';
const SQLITE_BUSY = 5;
/** Keeps locks alive if the caller drops its reference. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Locks a data directory for this process, or fails with the process id of the holder. The operating system releases the lock when
 * the holder dies, so there are no stale locks.
 */
export function lockDirectory(dir: string): DirectoryLock {
  const file = join(dir, FILE);
  createPrivateFile(dir, file);
  const db = new DatabaseSync(file, { timeout: 250 });
  try {
    db.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${process.pid}; COMMIT; BEGIN IMMEDIATE`);
  } catch (cause) {
    const holder = isBusy(cause) ? readHolder(db) : undefined;
    db.close();
    throw holder === undefined ? notWritable(dir, cause) : inUse(dir, holder, cause);
  }
  heldLocks.add(db);
  return {
    dir,
    [Symbol.dispose]() {
      if (heldLocks.delete(db)) db.close();
    },
  };
}

function readHolder(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && 'errcode' in cause && (Number(cause.errcode) & 0xff) === SQLITE_BUSY;
}

function inUse(dir: string, pid: number, cause: unknown): ServiceError {
  const message = `the data directory ${dir} is in use by process ${pid}; stop it (kill ${pid}) or choose another directory`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'DATA_IN_USE', pid }, cause });
}

function notWritable(dir: string, cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : 'unknown error';
  const message = `cannot write to the data directory ${dir} (${why}); free some space or choose another directory`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'DATA_NOT_WRITABLE' }, cause });
}
