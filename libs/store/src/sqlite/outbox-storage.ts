import { mintId } from '@switchyard/security';
import {
  MIN_REMAINING_LEASE_MS,
  LEASE_MS,
  computeRetryDelay,
  type PendingEvents,
  type OutboxStorage,
  type RecordedEvents,
  type PendingEvent,
} from '../outbox/outbox-publisher.ts';
import type { OutboxEvent } from '../port/store.ts';
import type { Database } from './database.ts';
import type { WriteQueue } from './write-queue.ts';

/** Identifies a document, which may be deleted already. */
export interface DocumentId {
  collection: string;
  tenant: string;
  key: string;
}

/** The outbox: events are stored by the same transaction as their document. */
export interface SqliteOutbox extends OutboxStorage {
  /** Stores events. Call it inside of a write. Returns the events for the publisher, to be offered after the sync. */
  record(name: DocumentId, events: readonly OutboxEvent[]): RecordedEvents | undefined;
}

const EVENT_BATCH_SIZE = 100;
const MAX_COUNTED_DOCUMENTS = 10_000;
/** Sequence numbers start at the current time, so that they are not reused after published events are deleted. */
const SEQUENCE_NUMBERS_PER_MS = 1_000;

const SELECT_LEASE = 'SELECT owner, until, failures FROM outbox WHERE document = ? LIMIT 1';
const INSERT_EVENT = `INSERT INTO outbox (seq, document, owner, until, failures, id, tenant, name, payload)
  VALUES ((SELECT max(?, ifnull(max(seq), 0) + 1) FROM outbox), ?, ?, ?, ?, ?, ?, ?, ?)`;
const SELECT_EVENTS = 'SELECT seq, id, tenant, name, payload FROM outbox WHERE document = ? AND owner = ? ORDER BY seq LIMIT ?';
const DELETE_PUBLISHED = 'DELETE FROM outbox WHERE document = ? AND owner = ? AND seq <= ?';
const ACQUIRE_LEASE = 'UPDATE outbox SET owner = ?, until = ? WHERE document = ?';
const RENEW_LEASE = 'UPDATE outbox SET until = ? WHERE document = ? AND owner = ?';
const POSTPONE = 'UPDATE outbox SET until = ?, failures = ? WHERE document = ? AND owner = ?';
const RELEASE_LEASES = 'UPDATE outbox SET until = 0 WHERE owner = ?';
const SELECT_EXPIRED = 'SELECT DISTINCT document FROM outbox WHERE until <= ? LIMIT ?';
const SELECT_OWN = 'SELECT DISTINCT document FROM outbox WHERE owner = ? AND until > ? AND failures = 0 LIMIT ?';
const INSERT_REJECTED = `INSERT INTO rejected_events (document, id, tenant, name, payload)
  SELECT document, id, tenant, name, payload FROM outbox WHERE seq = ?`;

/** Creates the outbox. All events of a document have the same lease, which is stored in each row. */
export function createSqliteOutbox({ prepare }: Database, queue: WriteQueue, now: () => number): SqliteOutbox {
  const owner = mintId('own');
  const [selectLease, insertEvent, deletePublished, selectEvents] = [SELECT_LEASE, INSERT_EVENT, DELETE_PUBLISHED, SELECT_EVENTS].map(
    prepare,
  ) as [Statement, Statement, Statement, Statement];
  /** Number of pending events by document, if it is known. */
  const pendingCounts = new Map<string, number>();
  const dataVersion = prepare('PRAGMA data_version');
  const initialVersion = dataVersion.get()?.data_version;
  let lastNumber = 0;

  /** Returns whether another connection has written to the file, which happens in tests only. */
  function hasOtherWriters(): boolean {
    return dataVersion.get()?.data_version !== initialVersion;
  }

  /** Counts from the first event of a document. A repeated transaction counts twice; `complete` then reads the table. */
  function addToCount(document: string, more: number, isNew: boolean): void {
    const before = isNew ? 0 : pendingCounts.get(document);
    if (before !== undefined) pendingCounts.set(document, before + more);
    if (pendingCounts.size > MAX_COUNTED_DOCUMENTS) pendingCounts.clear();
  }

  function readEvents(document: string): PendingEvent[] {
    return selectEvents.all(document, owner, EVENT_BATCH_SIZE).map(toPendingEvent);
  }

  /** Leases documents whose lease has expired. */
  function acquireExpired(limit: number, except: ReadonlySet<string>): string[] {
    const expired = prepare(SELECT_EXPIRED).all(now(), limit + except.size);
    const free = expired.map(({ document }) => String(document)).filter((document) => !except.has(document));
    const acquired = free.slice(0, limit);
    for (const document of acquired) prepare(ACQUIRE_LEASE).run(owner, now() + LEASE_MS, document);
    return acquired;
  }

  /** Call it inside of a write. Returns null if there are no events or the lease is lost. */
  function readPending(document: string): PendingEvents | null {
    const remainingItems = readEvents(document);
    return remainingItems.length === 0 ? null : { document, events: remainingItems };
  }

  /** Returns the lease for a new event. Takes over an expired lease, unless publishing has failed and is delayed. */
  function leaseForWrite(document: string): Lease & { isNew: boolean } {
    const mine = { owner, until: now() + LEASE_MS, failures: 0 };
    const there = selectLease.get(document);
    if (!there) return { ...mine, isNew: true };
    const [deadline, failures] = [Number(there.until), Number(there.failures)];
    if (failures > 0 || deadline > now()) return { owner: String(there.owner), until: deadline, failures, isNew: false };
    prepare(ACQUIRE_LEASE).run(owner, mine.until, document);
    return { ...mine, isNew: false };
  }

  function nextSequenceNumber(): number {
    lastNumber = Math.max(lastNumber + 1, now() * SEQUENCE_NUMBERS_PER_MS);
    return lastNumber;
  }

  return {
    announcesWrites: true,

    record({ collection, tenant, key }, newEvents) {
      if (newEvents.length === 0) return undefined;
      const document = JSON.stringify([collection, tenant, key]);
      const lease = leaseForWrite(document);
      const events = newEvents.map(({ name, payload }) => {
        const event = { id: mintId('evt'), tenant, name, payload: JSON.stringify(payload ?? null) };
        const { until, failures } = lease;
        const { lastInsertRowid } = insertEvent.run(
          nextSequenceNumber(),
          document,
          lease.owner,
          until,
          failures,
          event.id,
          tenant,
          name,
          event.payload,
        );
        return { ...event, seq: Number(lastInsertRowid) };
      });
      addToCount(document, events.length, lease.isNew);
      return { document, events, isComplete: lease.isNew };
    },

    async acquire(limit, except) {
      const { own, left } = await queue.read(() => {
        const rows = prepare(SELECT_OWN).all(owner, now() + MIN_REMAINING_LEASE_MS, limit + except.size);
        const fresh = rows.map(({ document }) => String(document)).filter((document) => !except.has(document));
        const some = fresh.slice(0, limit).map((document) => ({ document, events: readEvents(document) }));
        return { own: some, left: some.length < limit && prepare(SELECT_EXPIRED).get(now(), 1) !== undefined };
      });
      if (!left) return own;
      const matches = await queue.write(() => acquireExpired(limit - own.length, except).map(readPending));
      return [...own, ...matches.filter((one) => one !== null)];
    },

    renew: (documents) =>
      queue.write(() => documents.filter((document) => prepare(RENEW_LEASE).run(now() + LEASE_MS, document, owner).changes === 0)),

    complete: (document, seq) =>
      queue.writeDelayed(() => {
        const { changes } = deletePublished.run(document, owner, seq);
        const isAll = pendingCounts.get(document) === Number(changes);
        pendingCounts.delete(document);
        return isAll && !hasOtherWriters() ? null : readPending(document);
      }),

    reject: (_document, seq) =>
      queue.write(() => {
        prepare(INSERT_REJECTED).run(seq);
        prepare('DELETE FROM outbox WHERE seq = ?').run(seq);
      }),

    postpone: (document) =>
      queue.write(() => {
        const failures = Number(selectLease.get(document)?.failures ?? 0) + 1;
        prepare(POSTPONE).run(now() + computeRetryDelay(failures), failures, document, owner);
      }),

    releaseAll: () => queue.write(() => void prepare(RELEASE_LEASES).run(owner)),
  };
}

type Statement = ReturnType<Database['prepare']>;

interface Lease {
  owner: string;
  until: number;
  /** Number of failed attempts to publish. */
  failures: number;
}

function toPendingEvent(row: Record<string, unknown>): PendingEvent {
  return { seq: Number(row.seq), id: String(row.id), tenant: String(row.tenant), name: String(row.name), payload: String(row.payload) };
}
