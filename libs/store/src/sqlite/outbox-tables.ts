import type { DatabaseSync } from 'node:sqlite';

/** What is owed comes and goes at the end of one table, beside which there is an index of few short entries. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS owed (
    seq INTEGER PRIMARY KEY, document TEXT NOT NULL, owner TEXT NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL,
    id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS "owed.document" ON owed (document);
  CREATE TABLE IF NOT EXISTS refused (
    document TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL) STRICT`;

/** The tables in which an earlier version left what it owes; the oldest events name no document, and keep the order of one. */
const EARLIER = `
  INSERT INTO owed SELECT seq + (SELECT ifnull(max(seq), 0) FROM owed), document, '', 0, 0, id, tenant, name, payload
    FROM outbox WHERE refused = 0 ORDER BY seq;
  INSERT INTO refused (document, id, tenant, name, payload)
    SELECT document, id, tenant, name, payload FROM outbox WHERE refused = 1 ORDER BY seq;
  DROP TABLE outbox;
  DROP TABLE IF EXISTS owing`;

export function prepareLedger(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(TABLES);
    const columns = db.prepare(`SELECT name FROM pragma_table_info('outbox')`).all();
    if (columns.length > 0) {
      if (!columns.some(({ name }) => name === 'document')) db.exec(`ALTER TABLE outbox ADD COLUMN document TEXT NOT NULL DEFAULT ''`);
      db.exec(EARLIER);
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
