import { statSync } from 'node:fs';
import { mintId } from '@switchyard/security';
import type { Database } from './database.ts';

const TABLE = 'CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT';

/**
 * Combines an id that is stored in the database with the inode of its file. A copy of the file has another inode and so another
 * identity. A directory that two containers mount has the same identity in both.
 */
export function readDatabaseIdentity({ db }: Database): string {
  db.exec(TABLE);
  db.prepare('INSERT INTO identity (one, id) VALUES (1, ?) ON CONFLICT DO NOTHING').run(mintId('db'));
  const id = String(db.prepare('SELECT id FROM identity').get()?.id);
  return `${id}.${statSync(db.location() ?? '', { bigint: true }).ino}`;
}
