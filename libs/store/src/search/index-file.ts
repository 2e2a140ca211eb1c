import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SearchIndexOptions } from './search-index.ts';

/** The database of an index. */
export interface IndexFile {
  db: DatabaseSync;
  /** Compiles each statement once. */
  prepare: DatabaseSync['prepare'];
  /** Closes the file and releases its directory. */
  close(): void;
  /** Closes and deletes the file. */
  discard(): void;
}

const FILE_NAME = 'index.db';

/** Increment this with each change of the tables or of the words that `buildIndexText` returns. A file of another version is rebuilt. */
const SCHEMA_VERSION = 4;

/**
 * FTS5 stores the texts as well, in the form of `buildIndexText`. Without them the statistics of deleted texts would stay and affect the
 * ranking. The tokenizer `ascii` splits at spaces only, because letters of other scripts are part of a token and all else is folded away.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS entries (
    row INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, part TEXT NOT NULL, grp TEXT NOT NULL, owner TEXT NOT NULL,
    kind TEXT NOT NULL, trust TEXT NOT NULL, tags TEXT NOT NULL, session TEXT NOT NULL, bytes INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER, version INTEGER NOT NULL, gone INTEGER NOT NULL, UNIQUE (tenant, id)) STRICT;
  CREATE INDEX IF NOT EXISTS "entries.part" ON entries (part, row);
  CREATE INDEX IF NOT EXISTS "entries.created" ON entries (tenant, created, id);
  CREATE TABLE IF NOT EXISTS vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS terms (
    part INTEGER NOT NULL, identifier INTEGER NOT NULL, term TEXT NOT NULL, PRIMARY KEY (part, identifier, term)) STRICT, WITHOUT ROWID;
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    part, text, tokenize='porter ascii');
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
`;

/** The file has one process. A crash may lose the last writes; the owner then applies them again from the stored position. */
const PRAGMAS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA synchronous = NORMAL;
  PRAGMA trusted_schema = OFF;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -8192;
`;

/** Processes that share a directory use numbered subdirectories, and find their index again after a restart. */
const MAX_PROCESSES = 64;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const CORRUPT_CODES = new Set([SQLITE_CORRUPT, SQLITE_NOTADB]);

/** Opens the first index below a directory that no process uses. Rebuilds a corrupt index and one of another source, model or version. */
export function openIndexFile(dir: string, { identity, vectorModel, wal = true }: SearchIndexOptions): IndexFile {
  const meta = {
    identity,
    model: vectorModel?.name ?? '',
    dimensions: String(vectorModel?.dimensions ?? 0),
    schemaVersion: String(SCHEMA_VERSION),
  };
  for (let n = 1; n <= MAX_PROCESSES; n++) {
    const path = join(dir, String(n));
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const lock = unlessBusy(() => lockDirectory(path));
    const db = lock && unlessBusy(() => openExisting(path, meta, wal) ?? createFile(path, meta, wal));
    if (!db) lock?.close();
    else return { db, prepare: cacheStatements(db), close: () => close(db, lock), discard: () => discard(path, { db, lock }) };
  }
  throw new Error(`the limit of ${MAX_PROCESSES} processes with a search index in ${dir} is reached`);
}

/**
 * Locks a directory with a file that is never deleted. The lock of the index file would not do: it is released while the index is
 * rebuilt, and a process that opened the file in between would lose it.
 */
function lockDirectory(path: string): DatabaseSync {
  const lock = openDatabase(path, 'lock');
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

function unlessBusy<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** The contents of the table `meta`. */
type Meta = Readonly<Record<string, string>>;

/** Returns undefined if the index must be rebuilt. */
function openExisting(path: string, meta: Meta, wal: boolean): DatabaseSync | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = openFile(path, wal);
    if (hasMeta(db, meta) && isComplete(db)) return db;
  } catch (error) {
    if (isBusy(error)) throw error;
  }
  db?.close();
  return undefined;
}

function createFile(path: string, meta: Meta, wal: boolean): DatabaseSync {
  deleteFile(path);
  const db = openFile(path, wal);
  const insert = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  for (const [name, value] of Object.entries(meta)) insert.run(name, value);
  return db;
}

function deleteFile(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(join(path, `${FILE_NAME}${suffix}`), { recursive: true, force: true });
}

function close(db: DatabaseSync, lock: DatabaseSync): void {
  db.close();
  lock.close();
}

/** Releases the lock last, so that no other process opens the file before it is deleted. */
function discard(path: string, { db, lock }: { db: DatabaseSync; lock: DatabaseSync }): void {
  try {
    db.close();
    deleteFile(path);
  } finally {
    lock.close();
  }
}

/** Returns whether SQLite or FTS5 reported a corrupt file. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && CORRUPT_CODES.has(Number(error.errcode) & 0xff);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}

/** Returns the key of a group. It consists of digits, which the stemmer does not change, and does not reveal the names. */
export function computePartition(tenant: string, group: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, group]))
    .digest();
  return digest.readBigUInt64BE(0).toString() + digest.readBigUInt64BE(8).toString();
}

/** Creates the file with owner-only permissions. */
function openDatabase(path: string, name: string): DatabaseSync {
  const file = join(path, name);
  closeSync(openSync(file, 'a', 0o600));
  return new DatabaseSync(file, { timeout: 0, defensive: true });
}

function openFile(path: string, wal: boolean): DatabaseSync {
  const db = openDatabase(path, FILE_NAME);
  try {
    db.exec(`${PRAGMAS}PRAGMA journal_mode = ${wal ? 'WAL' : 'DELETE'};${TABLES}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function hasMeta(db: DatabaseSync, expected: Meta): boolean {
  const rows = db.prepare('SELECT name, value FROM meta').all();
  const meta = new Map(rows.map(({ name, value }) => [String(name), String(value)]));
  return Object.entries(expected).every(([name, value]) => meta.get(name) === value);
}

/** Compares the number of entries with that of full-text rows. Reads no text. */
function isComplete(db: DatabaseSync): boolean {
  const row = db.prepare('SELECT (SELECT count(*) FROM entries WHERE gone = 0) = (SELECT count(*) FROM words_docsize) AS complete').get();
  return row?.complete === 1;
}

function cacheStatements(db: DatabaseSync): DatabaseSync['prepare'] {
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}
