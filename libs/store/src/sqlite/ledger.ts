import type { DatabaseSync } from 'node:sqlite';
import { mintId } from '@switchyard/security';
import { CLAIM_MARGIN_MS, CLAIM_MS, pauseAfter, type Debt, type Ledger, type Owed, type OwedEvent } from '../publisher.ts';
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
  /** Only inside a write. What is to be offered to the publisher once that is on the disk. */
  record(name: DocumentName, events: readonly OutboxEvent[]): Owed | undefined;
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
  const owe = prepare('INSERT INTO owing (document, owner, until) VALUES (?, ?, ?) ON CONFLICT (document) DO NOTHING');
  const oweAgain = prepare('UPDATE owing SET owner = ?, until = ? WHERE document = ? AND failures = 0 AND until <= ?');
  const forget = prepare(
    `DELETE FROM outbox WHERE document = ?1 AND seq <= ?2 AND refused = 0
     AND EXISTS (SELECT 1 FROM owing WHERE document = ?1 AND owner = ?3)`,
  );
  const pay = prepare(
    `DELETE FROM owing WHERE document = ?1 AND owner = ?2
     AND NOT EXISTS (SELECT 1 FROM outbox WHERE document = ?1 AND refused = 0)`,
  );
  const keep = prepare('INSERT INTO outbox (id, tenant, name, payload, document) VALUES (?, ?, ?, ?, ?)');

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
    // In most cases nothing came meanwhile.
    if (pay.run(document, owner).changes > 0 || !isMine(document)) return null;
    return { document, events: eventsOf(document) };
  }

  return {
    offers: true,

    record({ collection, tenant, key }, events) {
      if (events.length === 0) return undefined;
      const document = JSON.stringify([collection, tenant, key]);
      const isNew = owe.run(document, owner, now() + CLAIM_MS).changes > 0;
      if (!isNew) oweAgain.run(owner, now() + CLAIM_MS, document, now());
      const owed = events.map(({ name, payload }) => {
        const event = { id: mintId('evt'), tenant, name, payload: JSON.stringify(payload ?? null) };
        return { ...event, seq: Number(keep.run(event.id, tenant, name, event.payload, document).lastInsertRowid) };
      });
      return { document, events: owed, whole: isNew };
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
      queue.writeLater(() => {
        forget.run(document, seq, owner);
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
