import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ServiceError } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { SYNC_IN_DATABASE } from './wal-sync.ts';

export interface Database {
  db: DatabaseSync;
  /** Path of the write-ahead log. */
  log: string;
  /** Caches compiled statements. */
  prepare: (sql: string) => StatementSync;
}

const MAX_CACHED_STATEMENTS = 256;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** With NORMAL a commit does not sync the log. The write queue syncs it asynchronously before it resolves a write. */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${SYNC_IN_DATABASE ? 'FULL' : 'NORMAL'};
  PRAGMA trusted_schema = OFF;
  PRAGMA wal_autocheckpoint = 1000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY;
`;

/** Opens or creates a database file with owner-only permissions. Checks its integrity if it was not closed cleanly. */
export function openDatabase(file: string): Database {
  createPrivateFile(dirname(file), file);
  const uncleanlyClosed = existsSync(`${file}-wal`);
  const db = new DatabaseSync(file, { timeout: 5000, enableForeignKeyConstraints: true, defensive: true });
  try {
    db.exec(SETTINGS);
    if (uncleanlyClosed) checkIntegrity(db, file);
  } catch (error) {
    db.close();
    throw error instanceof ServiceError ? error : databaseUnusable(file, error);
  }
  return { db, log: `${file}-wal`, prepare: cacheStatements(db) };
}

/** Creates the directory (0700) and the file (0600). SQLite creates its other files with the same mode. */
export function createPrivateFile(dir: string, file: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    const message = `cannot write to the data directory ${dir} (${why}); make it writable or choose another`;
    throw new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'DATA_NOT_WRITABLE' }, cause });
  }
}

function checkIntegrity(db: DatabaseSync, file: string): void {
  const found = db.prepare('PRAGMA integrity_check(1)').get();
  if (found?.integrity_check !== 'ok') throw databaseUnusable(file, new Error(String(found?.integrity_check)));
}

function databaseUnusable(file: string, cause: unknown): ServiceError {
  const code = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : SQLITE_CORRUPT;
  if (code !== SQLITE_CORRUPT && code !== SQLITE_NOTADB) return new ServiceError('UNAVAILABLE', `${file} could not be opened`, { cause });
  return new ServiceError('DATA_LOSS', `${file} is damaged or not a database; restore it from a backup or move it away`, { cause });
}

export function storeClosed(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the store is closed');
}

function cacheStatements(db: DatabaseSync): (sql: string) => StatementSync {
  const statements = new LRUCache<string, StatementSync>({ max: MAX_CACHED_STATEMENTS });
  return (sql) => {
    if (!db.isOpen) throw storeClosed();
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}
