import type { Collection } from 'mongodb';
import { mintId } from '@switchyard/security';
import { MIN_REMAINING_LEASE_MS, LEASE_MS, computeRetryDelay, type PendingEvents, type OutboxStorage } from '../outbox/outbox-publisher.ts';
import type { OutboxEvent } from '../port/store.ts';
import { waitAtMost } from './connection/wait-at-most.ts';
import { encodeLease, matchExpired, matchOwner, NO_LEASE } from './publication-lease.ts';
import type { StoredDocument, OutboxEntry } from './stored-document.ts';
import type { OutboxWrite } from './outbox-write.ts';
import { createOutboxCompleter, type LeasedDocument } from './outbox-completion.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

/** The outbox: pending events are stored in their documents. */
export interface MongoOutbox extends OutboxStorage {
  /** Returns undefined without events. */
  prepareEvents(events: readonly OutboxEvent[]): OutboxWrite | undefined;
  /** Call after a write. Queues its events for publication, unless another lease on the document existed. */
  registerWrite(document: WrittenDocument, outboxWrite: OutboxWrite | undefined, claimBefore: string | undefined): void;
}

export interface WrittenDocument {
  collection: Collection<StoredDocument>;
  id: string;
  tenant: string;
}

export interface MongoOutboxOptions {
  now: () => number;
  /** All open collections. */
  collections: () => readonly Collection<StoredDocument>[];
  /** Stores events that cannot be published. */
  rejected: Collection<RejectedEvent>;
}

interface RejectedEvent extends OutboxEntry {
  tenant: string;
  document: string;
  at: number;
}

/** Polls for expired leases about once a second and not with every write. */
const POLL_INTERVAL_MS = 950;
/** Further documents are dropped from memory and found in the database when their lease expires. */
const MAX_OWN_DOCUMENTS = 10_000;
const RELEASE_TIMEOUT_MS = 2_000;

export function createMongoOutbox({ now, collections, rejected }: MongoOutboxOptions): MongoOutbox {
  const owner = mintId('own');
  /** Documents with events of this store that are not published yet, oldest first. */
  const ownDocuments = new Map<string, LeasedDocument>();
  const leasedDocuments = new Map<string, LeasedDocument>();
  const completer = createOutboxCompleter(owner);
  let nextPollAt = 0;

  function acquireOwn(limit: number, except: ReadonlySet<string>): PendingEvents[] {
    const acquired: PendingEvents[] = [];
    for (const [document, leased] of ownDocuments) {
      if (acquired.length === limit) break;
      if (except.has(document)) continue;
      ownDocuments.delete(document);
      if (leased.until < now() + MIN_REMAINING_LEASE_MS) continue; // found by polling after the lease expires
      leasedDocuments.set(document, leased);
      acquired.push(toPendingEvents(document, leased));
    }
    return acquired;
  }

  /** Takes over documents with an expired lease. */
  async function acquireExpired(limit: number, except: ReadonlySet<string>): Promise<PendingEvents[]> {
    const matches = await Promise.all(collections().map((collection) => findExpired(collection, limit, except)));
    const acquired = await Promise.all(matches.flat().slice(0, limit).map(acquireLease));
    nextPollAt = matches.flat().length < limit ? now() + POLL_INTERVAL_MS : 0;
    return acquired.filter((one) => one !== null);
  }

  async function findExpired(collection: Collection<StoredDocument>, limit: number, except: ReadonlySet<string>) {
    const rows = await collection
      .find({ lease: matchExpired(now()) }, { sort: { lease: 1 }, limit: limit + except.size, projection: { lease: 1 }, ...SERVER_TIMEOUT })
      .toArray();
    return rows.filter(({ _id }) => !except.has(buildDocumentName(collection, _id))).map((row) => ({ collection, row }));
  }

  async function acquireLease({
    collection,
    row,
  }: {
    collection: Collection<StoredDocument>;
    row: Pick<StoredDocument, '_id' | 'lease'>;
  }): Promise<PendingEvents | null> {
    const deadline = now() + LEASE_MS;
    const filter = { _id: row._id, lease: row.lease ?? '' };
    const stored = await collection.findOneAndUpdate(filter, { $set: { lease: encodeLease(deadline, owner) } }, SERVER_TIMEOUT);
    if (stored === null) return null;
    const leased: LeasedDocument = {
      collection,
      id: stored._id,
      tenant: stored.tenant ?? stored.deletedTenant ?? '',
      until: deadline,
      failures: stored.failures ?? 0,
      events: [],
    };
    setEvents(leased, stored.outbox ?? []);
    const document = buildDocumentName(collection, stored._id);
    if (leased.events.length > 0) {
      leasedDocuments.set(document, leased);
      return toPendingEvents(document, leased);
    }
    await completer.clear(leased);
    return null;
  }

  return {
    prepareEvents(events) {
      const entries = events.map(({ name, payload }) => ({ id: mintId('evt'), name, payload: JSON.stringify(payload ?? null) }));
      const lastEventId = entries.at(-1)?.id;
      if (lastEventId === undefined) return undefined;
      const write: OutboxWrite = { entries, lastEventId, until: 0, startLease: () => encodeLease((write.until = now() + LEASE_MS), owner) };
      return write;
    },

    registerWrite({ collection, id, tenant }, write, previousLease) {
      if (write === undefined || previousLease !== undefined) return;
      const leased: LeasedDocument = { collection, id, tenant, until: write.until, failures: 0, events: [] };
      setEvents(leased, write.entries);
      const document = buildDocumentName(collection, id);
      ownDocuments.delete(document);
      ownDocuments.set(document, leased);
      const [oldest] = ownDocuments.keys();
      if (ownDocuments.size > MAX_OWN_DOCUMENTS && oldest !== undefined) ownDocuments.delete(oldest);
    },

    async acquire(limit, except) {
      const own = acquireOwn(limit, except);
      if (own.length === limit || now() < nextPollAt) return own;
      return [...own, ...(await acquireExpired(limit - own.length, except))];
    },

    async renew(documents) {
      const lease = encodeLease(now() + LEASE_MS, owner);
      const ownItems = documents.flatMap((document) => leasedDocuments.get(document) ?? []);
      const renewed = new Set<string>();
      await Promise.all(
        ownItems.map(async (leased) => {
          const { matchedCount } = await leased.collection.updateOne(
            { _id: leased.id, lease: matchOwner(owner) },
            { $set: { lease } },
            SERVER_TIMEOUT,
          );
          if (matchedCount === 1) renewed.add(buildDocumentName(leased.collection, leased.id));
        }),
      );
      return documents.filter((document) => !renewed.has(document));
    },

    async complete(document, seq) {
      const leased = leasedDocuments.get(document);
      if (leased === undefined) return null;
      const end = (): void => void (leasedDocuments.get(document) === leased && leasedDocuments.delete(document));
      const remainingItems = await completer.complete(leased, seq).catch((error: unknown) => {
        end();
        throw error;
      });
      if (remainingItems.length === 0) {
        end();
        return null;
      }
      setEvents(leased, remainingItems);
      return toPendingEvents(document, leased);
    },

    async reject(document, seq) {
      const leased = leasedDocuments.get(document);
      const event = leased?.events.find((one) => one.seq === seq);
      if (leased === undefined || event === undefined) return;
      const { id, name, payload } = event;
      const rejectedEvent = { id, name, payload, tenant: leased.tenant, document, at: now() };
      await rejected.updateOne({ id }, { $setOnInsert: rejectedEvent }, { upsert: true, ...SERVER_TIMEOUT });
    },

    async postpone(document) {
      const leased = leasedDocuments.get(document);
      if (leased === undefined) return;
      leasedDocuments.delete(document);
      const failures = leased.failures + 1;
      const until = now() + computeRetryDelay(failures);
      const lease = encodeLease(until, owner);
      nextPollAt = Math.min(nextPollAt, until);
      await leased.collection.updateOne({ _id: leased.id, lease: matchOwner(owner) }, { $set: { lease, failures } }, SERVER_TIMEOUT);
    },

    async releaseAll() {
      const free = { $set: { lease: NO_LEASE } };
      await waitAtMost(
        RELEASE_TIMEOUT_MS,
        Promise.all(collections().map((one) => one.updateMany({ lease: matchOwner(owner) }, free, SERVER_TIMEOUT))),
      );
    },
  };
}

function buildDocumentName({ collectionName }: Collection<StoredDocument>, id: string): string {
  return `${collectionName}\n${id}`;
}

/** Continues the numbering, so that a number identifies one event while the document is leased. */
function setEvents(leased: LeasedDocument, entries: readonly OutboxEntry[]): void {
  const from = leased.events.at(-1)?.seq ?? 0;
  leased.events = entries.map((entry, n) => ({ ...entry, tenant: leased.tenant, seq: from + n + 1 }));
}

function toPendingEvents(document: string, { events }: LeasedDocument): PendingEvents {
  return { document, events };
}
