import type { DatabaseSync } from 'node:sqlite';
import { mintId } from '@switchyard/security';
import { CLAIM_MARGIN_MS, CLAIM_MS, pauseAfter, type Debt, type Ledger, type OwedEvent } from '../publisher.ts';
import type { OutboxEvent } from '../store.ts';
import type { Database } from './database.ts';
import type { Queue } from './queue.ts';

/** Which document, whether it is still there or not. */
export interface DocumentName {
  collection: string;
  tenant: string;
  key: string;
}

/** The events that writes owe the world, stored by the same transaction. */
export interface SqliteLedger extends Ledger {
  /** Only inside a write. */
  record(name: DocumentName, events: readonly OutboxEvent[]): void;
}

const EVENTS_AT_ONCE = 100;

const TABLES = `
  CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0, document TEXT NOT NULL DEFAULT '') STRICT;
  CREATE TABLE IF NOT EXISTS owing (
    document TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS "owing.until" ON owing (until)`;

/** Events that an earlier version left name no document; they keep the order of one. */
const LEFT = `
  CREATE INDEX IF NOT EXISTS "outbox.document" ON outbox (document, seq) WHERE refused = 0;
  INSERT INTO owing (document, owner, until) SELECT '', '', 0 WHERE EXISTS (SELECT 1 FROM outbox WHERE document = '' AND refused = 0)
    ON CONFLICT DO NOTHING`;

export function prepareLedger(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(TABLES);
    const columns = db.prepare(`SELECT name FROM pragma_table_info('outbox')`).all();
    if (!columns.some(({ name }) => name === 'document')) db.exec(`ALTER TABLE outbox ADD COLUMN document TEXT NOT NULL DEFAULT ''`);
    db.exec(LEFT);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export function createLedger({ prepare }: Database, queue: Queue, now: () => number): SqliteLedger {
  const owner = mintId('own');

  function eventsOf(document: string): OwedEvent[] {
    const select = prepare('SELECT seq, id, tenant, name, payload FROM outbox WHERE document = ? AND refused = 0 ORDER BY seq LIMIT ?');
    return select.all(document, EVENTS_AT_ONCE).map(owed);
  }

  /** What nobody holds any more. */
  function claim(wanted: number, except: ReadonlySet<string>): string[] {
    const expired = prepare('SELECT document FROM owing WHERE until <= ? ORDER BY until LIMIT ?').all(now(), wanted + except.size);
    const free = expired.map(({ document }) => String(document)).filter((document) => !except.has(document));
    const take = prepare('UPDATE owing SET owner = ?, until = ? WHERE document = ?');
    const claimed = free.slice(0, wanted);
    for (const document of claimed) take.run(owner, now() + CLAIM_MS, document);
    return claimed;
  }

  function isExpired(): boolean {
    return prepare('SELECT 1 FROM owing WHERE until <= ? LIMIT 1').get(now()) !== undefined;
  }

  function isMine(document: string): boolean {
    return prepare('SELECT 1 FROM owing WHERE document = ? AND owner = ?').get(document, owner) !== undefined;
  }

  /** Only inside a write. */
  function debtOf(document: string): Debt | null {
    const events = eventsOf(document);
    if (events.length > 0) return { document, events };
    prepare('DELETE FROM owing WHERE document = ? AND owner = ?').run(document, owner);
    return null;
  }

  return {
    record({ collection, tenant, key }, events) {
      if (events.length === 0) return;
      const document = JSON.stringify([collection, tenant, key]);
      prepare(
        `INSERT INTO owing (document, owner, until) VALUES (?, ?, ?) ON CONFLICT (document)
         DO UPDATE SET owner = excluded.owner, until = excluded.until WHERE failures = 0 AND until <= ?`,
      ).run(document, owner, now() + CLAIM_MS, now());
      const insert = prepare('INSERT INTO outbox (id, tenant, name, payload, document) VALUES (?, ?, ?, ?, ?)');
      for (const { name, payload } of events) insert.run(mintId('evt'), tenant, name, JSON.stringify(payload ?? null), document);
    },

    async take(limit, except) {
      const { own, left } = await queue.read(() => {
        const select = prepare('SELECT document FROM owing WHERE until > ? AND owner = ? AND failures = 0 ORDER BY until LIMIT ?');
        const rows = select.all(now() + CLAIM_MARGIN_MS, owner, limit + except.size).map(({ document }) => String(document));
        const fresh = rows.filter((document) => !except.has(document)).slice(0, limit);
        return { own: fresh.map((document) => ({ document, events: eventsOf(document) })), left: fresh.length < limit && isExpired() };
      });
      const paid = own.filter(({ events }) => events.length > 0);
      if (!left) return paid;
      const found = await queue.write(() => claim(limit - own.length, except).map(debtOf));
      return [...paid, ...found.filter((debt) => debt !== null)];
    },

    renew: (documents) =>
      queue.write(() => {
        const renew = prepare('UPDATE owing SET until = ? WHERE document = ? AND owner = ?');
        return documents.filter((document) => renew.run(now() + CLAIM_MS, document, owner).changes === 0);
      }),

    settle: (document, seq) =>
      queue.write(() => {
        if (!isMine(document)) return null;
        prepare('DELETE FROM outbox WHERE document = ? AND seq <= ? AND refused = 0').run(document, seq);
        return debtOf(document);
      }),

    setAside: (_document, seq) => queue.write(() => void prepare('UPDATE outbox SET refused = 1 WHERE seq = ?').run(seq)),

    putOff: (document) =>
      queue.write(() => {
        const failed = prepare('SELECT failures FROM owing WHERE document = ? AND owner = ?').get(document, owner);
        const failures = Number(failed?.failures ?? 0) + 1;
        const later = prepare('UPDATE owing SET until = ?, failures = ? WHERE document = ? AND owner = ?');
        later.run(now() + pauseAfter(failures), failures, document, owner);
      }),

    release: () => queue.write(() => void prepare('UPDATE owing SET until = 0 WHERE owner = ?').run(owner)),
  };
}

function owed(row: Record<string, unknown>): OwedEvent {
  return { seq: Number(row.seq), id: String(row.id), tenant: String(row.tenant), name: String(row.name), payload: String(row.payload) };
}
