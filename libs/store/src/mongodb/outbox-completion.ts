import type { Collection } from 'mongodb';
import type { PendingEvent } from '../outbox/outbox-publisher.ts';
import { matchOwner } from './publication-lease.ts';
import type { StoredDocument, OutboxEntry } from './stored-document.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

/** A document whose events are this store's to publish. */
export interface LeasedDocument {
  collection: Collection<StoredDocument>;
  id: string;
  tenant: string;
  /** Until when it is, unless that was renewed. */
  until: number;
  failures: number;
  events: readonly PendingEvent[];
}

/** Takes what was published out of the documents. */
export interface OutboxCompleter {
  /** Gives what the document still owes to us; nothing when that is somebody else's by now. */
  complete(leased: LeasedDocument, seq: number): Promise<OutboxEntry[]>;
  /** Ends a claim on a document that owes nothing; one that was removed goes. */
  clear(leased: LeasedDocument): Promise<void>;
}

interface PendingCompletion {
  leased: LeasedDocument;
  lastEventId: string;
  resolve: (left: OutboxEntry[]) => void;
  reject: (error: unknown) => void;
}

const OUTBOX_FIELDS = { outbox: '', lastEventId: '', lease: '', failures: '' } as const;

/** What is published in the same turn of the event loop is completions by one command for each collection. */
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
 * Whatever a document owed up to an event that was published has been published too, whoever holds it now. So a document whose last
 * event is one of ours owes nothing more.
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

/** Documents that were removed go; gives the ids of those that owe more. */
async function completeOthers(
  collection: Collection<StoredDocument>,
  published: { _id: { $in: string[] }; lastEventId: { $in: string[] } },
): Promise<Set<string>> {
  await collection.deleteMany({ ...published, deletedTenant: { $exists: true } }, SERVER_TIMEOUT);
  const remaining = { _id: published._id, lastEventId: { $exists: true } };
  const rows = await collection.find(remaining, { projection: { _id: 1 }, ...SERVER_TIMEOUT }).toArray();
  return new Set(rows.map(({ _id }) => _id));
}

/** One document, of which more is owed than we knew, or less is published. Its claim may be renewed this very moment. */
async function removePublished({ collection, id, events }: LeasedDocument, seq: number, owner: string): Promise<OutboxEntry[]> {
  const published = events.filter((event) => event.seq <= seq).map((event) => event.id);
  const removePublishedEvents = { $pull: { outbox: { id: { $in: published } } }, $unset: { failures: '' } } as const;
  const before = await collection.findOneAndUpdate({ _id: id, lease: matchOwner(owner) }, removePublishedEvents, SERVER_TIMEOUT);
  return (before?.outbox ?? []).filter((entry) => !published.includes(entry.id));
}
