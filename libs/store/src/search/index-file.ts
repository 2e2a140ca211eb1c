import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LOCAL_MODEL } from './hash-embedding.ts';
import type { SearchIndexOptions, VectorModel } from './search-index.ts';

/** The database of an index, and its statements. */
export interface IndexFile {
  db: DatabaseSync;
  /** Compiled once each. */
  prepare: DatabaseSync['prepare'];
  /** How its vectors are made. */
  model: VectorModel;
  /** Gives its place to others. */
  close(): void;
  /** Closes it, and leaves nothing of it behind. */
  discard(): void;
}

const INDEX = 'index.db';

/** Raised with every change of the tables: what an earlier version wrote is thrown away. */
const LAYOUT = 1;

/** The texts are kept too: without them, what is taken out of the index would go on counting in its statistics, and so in every order. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS entries (
    row INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, part TEXT NOT NULL, grp TEXT NOT NULL, owner TEXT NOT NULL,
    kind TEXT NOT NULL, trust TEXT NOT NULL, tags TEXT NOT NULL, session TEXT NOT NULL, bytes INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER, version INTEGER NOT NULL, gone INTEGER NOT NULL, UNIQUE (tenant, id)) STRICT;
  CREATE INDEX IF NOT EXISTS "entries.part" ON entries (part, row);
  CREATE INDEX IF NOT EXISTS "entries.created" ON entries (tenant, created, id);
  CREATE TABLE IF NOT EXISTS vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT;
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    part, text, tokenize='porter unicode61 remove_diacritics 2');
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
`;

/** Nobody else opens the file while we have it. A crash may lose what was written last, and that is followed again. */
const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA synchronous = NORMAL;
  PRAGMA trusted_schema = OFF;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -8192;
`;

/** Processes on one machine may share a directory: each has an index of its own there, and finds it again after a restart. */
const MOST_BESIDE_EACH_OTHER = 64;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const DAMAGED = new Set([SQLITE_CORRUPT, SQLITE_NOTADB]);

/**
 * Opens the first index below a directory that nobody else has open. One that is damaged, of another layout, model or source, is begun
 * anew: nothing in it is the truth.
 */
export function openIndexFile(
  dir: string,
  { identity, given: model = LOCAL_MODEL, wal = true }: Pick<SearchIndexOptions, 'identity' | 'given' | 'wal'>,
): IndexFile {
  const about = { identity, model: model.name, dimensions: String(model.dimensions), layout: String(LAYOUT) };
  for (let n = 1; n <= MOST_BESIDE_EACH_OTHER; n++) {
    const place = join(dir, String(n));
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const lock = unlessBusy(() => hold(place));
    const db = lock && unlessBusy(() => openOurs(place, about, wal) ?? openAnew(place, about, wal));
    if (!db) lock?.close();
    else return { db, prepare: cached(db), model, close: () => close(db, lock), discard: () => discard(place, { db, lock }) };
  }
  throw new Error(`${MOST_BESIDE_EACH_OTHER} processes have an index in ${dir} already`);
}

/**
 * Whoever has this file open has the place, and may begin its index anew; it is never taken away itself. The lock of the index would not
 * do: it is let go where the index is begun anew, and who came in between had a file that was then deleted under it.
 */
function hold(place: string): DatabaseSync {
  const lock = fileIn(place, 'lock');
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

/** What an index says of itself; of one that says otherwise nothing is right. */
type About = Readonly<Record<string, string>>;

/** Undefined for one that is of no use. */
function openOurs(place: string, about: About, wal: boolean): DatabaseSync | undefined {
  let db: DatabaseSync | undefined;
  try {
    db = open(place, wal);
    if (isOurs(db, about) && isWhole(db)) return db;
  } catch (error) {
    // An earlier version knows no lock of the place.
    if (isBusy(error)) throw error;
  }
  db?.close();
  return undefined;
}

function openAnew(place: string, about: About, wal: boolean): DatabaseSync {
  remove(place);
  const db = open(place, wal);
  const keep = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
  for (const [name, value] of Object.entries(about)) keep.run(name, value);
  return db;
}

function remove(place: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(join(place, `${INDEX}${end}`), { recursive: true, force: true });
}

function close(db: DatabaseSync, lock: DatabaseSync): void {
  db.close();
  lock.close();
}

/** The place is given to others last, so that nobody opens what is about to be taken away. */
function discard(place: string, { db, lock }: { db: DatabaseSync; lock: DatabaseSync }): void {
  try {
    db.close();
    remove(place);
  } finally {
    lock.close();
  }
}

/** What SQLite says of a file that it cannot make sense of, and FTS5 of its tables. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && DAMAGED.has(Number(error.errcode) & 0xff);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}

/** Where a group of a tenant stands: digits, which no stemmer changes, and from which nobody reads either name. */
export function partOf(tenant: string, group: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([tenant, group]))
    .digest();
  return digest.readBigUInt64BE(0).toString() + digest.readBigUInt64BE(8).toString();
}

/** Nobody but its owner reads it. */
function fileIn(place: string, name: string): DatabaseSync {
  const file = join(place, name);
  closeSync(openSync(file, 'a', 0o600));
  return new DatabaseSync(file, { timeout: 0, defensive: true });
}

function open(place: string, wal: boolean): DatabaseSync {
  const db = fileIn(place, INDEX);
  try {
    db.exec(`${SETTINGS}PRAGMA journal_mode = ${wal ? 'WAL' : 'DELETE'};${TABLES}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isOurs(db: DatabaseSync, about: About): boolean {
  const meta = new Map(
    db
      .prepare('SELECT name, value FROM meta')
      .all()
      .map(({ name, value }) => [String(name), String(value)]),
  );
  return Object.entries(about).every(([name, value]) => meta.get(name) === value);
}

/** Each entry that is there has its words. Both are counted without reading any text. */
function isWhole(db: DatabaseSync): boolean {
  const counted = db.prepare('SELECT (SELECT count(*) FROM entries WHERE gone = 0) = (SELECT count(*) FROM words_docsize) AS whole').get();
  return counted?.whole === 1;
}

function cached(db: DatabaseSync): DatabaseSync['prepare'] {
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}
