import { mintId } from '@switchyard/security';
import { CLAIM_MARGIN_MS, CLAIM_MS, pauseAfter, type Debt, type Ledger, type Owed, type OwedEvent } from '../outbox/outbox-publisher.ts';
import type { OutboxEvent } from '../port/store.ts';
import type { Database } from './database.ts';
import type { Queue } from './write-queue.ts';

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
const MOST_COUNTED = 10_000;
/** Numbers begin with the time, so that none comes twice although what was published is removed. */
const NUMBERS_A_MS = 1_000;

const CLAIM = 'SELECT owner, until, failures FROM owed WHERE document = ? LIMIT 1';
const KEEP = `INSERT INTO owed (seq, document, owner, until, failures, id, tenant, name, payload)
  VALUES ((SELECT max(?, ifnull(max(seq), 0) + 1) FROM owed), ?, ?, ?, ?, ?, ?, ?, ?)`;
const EVENTS = 'SELECT seq, id, tenant, name, payload FROM owed WHERE document = ? AND owner = ? ORDER BY seq LIMIT ?';
const PAID = 'DELETE FROM owed WHERE document = ? AND owner = ? AND seq <= ?';
const TAKE = 'UPDATE owed SET owner = ?, until = ? WHERE document = ?';
const RENEW = 'UPDATE owed SET until = ? WHERE document = ? AND owner = ?';
const PUT_OFF = 'UPDATE owed SET until = ?, failures = ? WHERE document = ? AND owner = ?';
const RELEASE = 'UPDATE owed SET until = 0 WHERE owner = ?';
const EXPIRED = 'SELECT DISTINCT document FROM owed WHERE until <= ? LIMIT ?';
const OWN = 'SELECT DISTINCT document FROM owed WHERE owner = ? AND until > ? AND failures = 0 LIMIT ?';
const REFUSE = `INSERT INTO refused (document, id, tenant, name, payload)
  SELECT document, id, tenant, name, payload FROM owed WHERE seq = ?`;

/** All events of a document stand under one claim, which each of them has beside it. */
export function createLedger({ prepare }: Database, queue: Queue, now: () => number): SqliteLedger {
  const owner = mintId('own');
  const [claimOf, keep, paid, unpaid] = [CLAIM, KEEP, PAID, EVENTS].map(prepare) as [Statement, Statement, Statement, Statement];
  /** How many events of a document were recorded here and not published yet, where that is known. */
  const recorded = new Map<string, number>();
  const version = prepare('PRAGMA data_version');
  const unshared = version.get()?.data_version;
  let last = 0;

  /** Whether another connection has written to the file, which no process but a test has. */
  function isShared(): boolean {
    return version.get()?.data_version !== unshared;
  }

  /** Counted from a document's first event on. A transaction may run twice: then it says too much, and the table is asked. */
  function count(document: string, more: number, isNew: boolean): void {
    const before = isNew ? 0 : recorded.get(document);
    if (before !== undefined) recorded.set(document, before + more);
    if (recorded.size > MOST_COUNTED) recorded.clear();
  }

  function eventsOf(document: string): OwedEvent[] {
    return unpaid.all(document, owner, EVENTS_AT_ONCE).map(owed);
  }

  /** What nobody holds any more. */
  function claim(wanted: number, except: ReadonlySet<string>): string[] {
    const expired = prepare(EXPIRED).all(now(), wanted + except.size);
    const free = expired.map(({ document }) => String(document)).filter((document) => !except.has(document));
    const claimed = free.slice(0, wanted);
    for (const document of claimed) prepare(TAKE).run(owner, now() + CLAIM_MS, document);
    return claimed;
  }

  /** Only inside a write. Null where nothing is owed, or the claim is lost. */
  function debtOf(document: string): Debt | null {
    const left = eventsOf(document);
    return left.length === 0 ? null : { document, events: left };
  }

  /** The claim that one more event of a document comes under: one that ran out is taken, unless what it is on has failed. */
  function claimFor(document: string): Claim & { isNew: boolean } {
    const mine = { owner, until: now() + CLAIM_MS, failures: 0 };
    const there = claimOf.get(document);
    if (!there) return { ...mine, isNew: true };
    const [until, failures] = [Number(there.until), Number(there.failures)];
    if (failures > 0 || until > now()) return { owner: String(there.owner), until, failures, isNew: false };
    prepare(TAKE).run(owner, mine.until, document);
    return { ...mine, isNew: false };
  }

  function number(): number {
    last = Math.max(last + 1, now() * NUMBERS_A_MS);
    return last;
  }

  return {
    offers: true,

    record({ collection, tenant, key }, given) {
      if (given.length === 0) return undefined;
      const document = JSON.stringify([collection, tenant, key]);
      const claimed = claimFor(document);
      const events = given.map(({ name, payload }) => {
        const event = { id: mintId('evt'), tenant, name, payload: JSON.stringify(payload ?? null) };
        const { until, failures } = claimed;
        const { lastInsertRowid } = keep.run(number(), document, claimed.owner, until, failures, event.id, tenant, name, event.payload);
        return { ...event, seq: Number(lastInsertRowid) };
      });
      count(document, events.length, claimed.isNew);
      return { document, events, whole: claimed.isNew };
    },

    async take(limit, except) {
      const { own, left } = await queue.read(() => {
        const rows = prepare(OWN).all(owner, now() + CLAIM_MARGIN_MS, limit + except.size);
        const fresh = rows.map(({ document }) => String(document)).filter((document) => !except.has(document));
        const some = fresh.slice(0, limit).map((document) => ({ document, events: eventsOf(document) }));
        return { own: some, left: some.length < limit && prepare(EXPIRED).get(now(), 1) !== undefined };
      });
      if (!left) return own;
      const found = await queue.write(() => claim(limit - own.length, except).map(debtOf));
      return [...own, ...found.filter((debt) => debt !== null)];
    },

    renew: (documents) =>
      queue.write(() => documents.filter((document) => prepare(RENEW).run(now() + CLAIM_MS, document, owner).changes === 0)),

    settle: (document, seq) =>
      queue.writeLater(() => {
        const { changes } = paid.run(document, owner, seq);
        const isAll = recorded.get(document) === Number(changes);
        recorded.delete(document);
        return isAll && !isShared() ? null : debtOf(document);
      }),

    setAside: (_document, seq) =>
      queue.write(() => {
        prepare(REFUSE).run(seq);
        prepare('DELETE FROM owed WHERE seq = ?').run(seq);
      }),

    putOff: (document) =>
      queue.write(() => {
        const failures = Number(claimOf.get(document)?.failures ?? 0) + 1;
        prepare(PUT_OFF).run(now() + pauseAfter(failures), failures, document, owner);
      }),

    release: () => queue.write(() => void prepare(RELEASE).run(owner)),
  };
}

type Statement = ReturnType<Database['prepare']>;

interface Claim {
  owner: string;
  /** Until when. */
  until: number;
  /** How often publishing failed. */
  failures: number;
}

function owed(row: Record<string, unknown>): OwedEvent {
  return { seq: Number(row.seq), id: String(row.id), tenant: String(row.tenant), name: String(row.name), payload: String(row.payload) };
}
