import { statSync } from 'node:fs';
import { mintId } from '@switchyard/security';
import type { Database } from './database.ts';

const TABLE = 'CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT';

/**
 * The id that was minted when the file was made, and the file's inode. A copy of the directory has the same id and another
 * inode, so it counts as another database; a directory that two containers mount is the same in both.
 */
export function readDatabaseIdentity({ db }: Database): string {
  db.exec(TABLE);
  db.prepare('INSERT INTO identity (one, id) VALUES (1, ?) ON CONFLICT DO NOTHING').run(mintId('db'));
  const id = String(db.prepare('SELECT id FROM identity').get()?.id);
  return `${id}.${statSync(db.location() ?? '', { bigint: true }).ino}`;
}
