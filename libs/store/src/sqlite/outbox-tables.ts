import type { DatabaseSync } from 'node:sqlite';

/** Pending events are appended to one table and deleted after publication. Rejected events are kept for inspection. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER PRIMARY KEY, document TEXT NOT NULL, owner TEXT NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL,
    id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS "outbox.document" ON outbox (document);
  CREATE TABLE IF NOT EXISTS rejected_events (
    document TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL) STRICT`;

export function createOutboxTables(db: DatabaseSync): void {
  db.exec(TABLES);
}
