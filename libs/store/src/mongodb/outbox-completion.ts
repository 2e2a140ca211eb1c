import type { Collection } from 'mongodb';
import type { PendingEvent } from '../outbox/outbox-publisher.ts';
import { matchOwner } from './publication-lease.ts';
import type { StoredDocument, OutboxEntry } from './stored-document.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

/** A document that this store has leased to publish its events. */
export interface LeasedDocument {
  collection: Collection<StoredDocument>;
  id: string;
  tenant: string;
  /** Expiry time of the lease, before renewals. */
  until: number;
  failures: number;
  events: readonly PendingEvent[];
}

/** Removes published events from documents. */
export interface OutboxCompleter {
  /** Returns the remaining events; none if the lease is lost. */
  complete(leased: LeasedDocument, seq: number): Promise<OutboxEntry[]>;
  /** Ends the lease of a document without events. Deletes the document if it was removed. */
  clear(leased: LeasedDocument): Promise<void>;
}

interface PendingCompletion {
  leased: LeasedDocument;
  lastEventId: string;
  resolve: (remainingItems: OutboxEntry[]) => void;
  reject: (error: unknown) => void;
}

const OUTBOX_FIELDS = { outbox: '', lastEventId: '', lease: '', failures: '' } as const;

/** Combines completions of the same turn of the event loop in one command per collection. */
export function createOutboxCompleter(owner: string): OutboxCompleter {
  const pending = new Map<Collection<StoredDocument>, PendingCompletion[]>();

  function flush(): void {
    for (const [collection, completions] of pending) {
      completeAll(collection, completions, owner).catch((error: unknown) => completions.forEach(({ reject }) => reject(error)));
    }
    pending.clear();
  }

  return {
    complete(leased, seq) {
      const last = leased.events.at(-1);
      if (last === undefined || last.seq > seq) return removePublished(leased, seq, owner);
      return new Promise((resolve, reject) => {
        if (pending.size === 0) setImmediate(flush);
        const completions = pending.get(leased.collection) ?? [];
        pending.set(leased.collection, completions);
        completions.push({ leased, lastEventId: last.id, resolve, reject });
      });
    },
    async clear({ collection, id }) {
      const withoutEvents = { _id: id, lease: matchOwner(owner), 'outbox.0': { $exists: false } };
      const { deletedCount } = await collection.deleteOne({ ...withoutEvents, deletedTenant: { $exists: true } }, SERVER_TIMEOUT);
      if (deletedCount === 0) await collection.updateOne(withoutEvents, { $unset: OUTBOX_FIELDS }, SERVER_TIMEOUT);
    },
  };
}

/**
 * Events are published in order, so a document whose last event was published has no pending events, whatever its lease is now.
 */
async function completeAll(
  collection: Collection<StoredDocument>,
  completions: readonly PendingCompletion[],
  owner: string,
): Promise<void> {
  const published = {
    _id: { $in: completions.map(({ leased }) => leased.id) },
    lastEventId: { $in: completions.map(({ lastEventId }) => lastEventId) },
  };
  const { modifiedCount } = await collection.updateMany(
    { ...published, deletedTenant: { $exists: false } },
    { $unset: OUTBOX_FIELDS },
    SERVER_TIMEOUT,
  );
  const unfinished = modifiedCount === completions.length ? new Set<string>() : await completeOthers(collection, published);
  for (const { leased, resolve, reject } of completions) {
    if (!unfinished.has(leased.id)) resolve([]);
    else removePublished(leased, leased.events.at(-1)?.seq ?? 0, owner).then(resolve, reject);
  }
}

/** Deletes removed documents. Returns the ids of documents with further events. */
async function completeOthers(
  collection: Collection<StoredDocument>,
  published: { _id: { $in: string[] }; lastEventId: { $in: string[] } },
): Promise<Set<string>> {
  await collection.deleteMany({ ...published, deletedTenant: { $exists: true } }, SERVER_TIMEOUT);
  const remaining = { _id: published._id, lastEventId: { $exists: true } };
  const rows = await collection.find(remaining, { projection: { _id: 1 }, ...SERVER_TIMEOUT }).toArray();
  return new Set(rows.map(({ _id }) => _id));
}

/** Removes the published events of one document and keeps the others. Its lease may be renewed concurrently. */
async function removePublished({ collection, id, events }: LeasedDocument, seq: number, owner: string): Promise<OutboxEntry[]> {
  const published = events.filter((event) => event.seq <= seq).map((event) => event.id);
  const removePublishedEvents = { $pull: { outbox: { id: { $in: published } } }, $unset: { failures: '' } } as const;
  const before = await collection.findOneAndUpdate({ _id: id, lease: matchOwner(owner) }, removePublishedEvents, SERVER_TIMEOUT);
  return (before?.outbox ?? []).filter((entry) => !published.includes(entry.id));
}
