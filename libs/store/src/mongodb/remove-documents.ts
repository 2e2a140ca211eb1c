import type { Filter as MongoFilter } from 'mongodb';
import { NO_LEASE } from './publication-lease.ts';
import type { StoredDocument, StoredCollection } from './stored-document.ts';
import { SERVER_TIMEOUT } from './connection/timeouts.ts';

const REMOVE_BATCH_SIZE = 1_000;

/**
 * Removes matching documents. Documents with pending events become invisible to queries until the events are published. They get a
 * lease, so that a poll finds and deletes them even if their events were published just now.
 */
export async function removeMatching({ documents }: StoredCollection, query: MongoFilter<StoredDocument>): Promise<number> {
  const { deletedCount } = await documents.deleteMany({ ...query, lease: { $exists: false } }, SERVER_TIMEOUT);
  const hidden = await documents.updateMany(
    query,
    {
      $rename: { tenant: 'deletedTenant' },
      $unset: { doc: '', unique: '' },
      $set: { bytes: 0 },
      $inc: { rev: 1 },
      $max: { lease: NO_LEASE },
    },
    SERVER_TIMEOUT,
  );
  return deletedCount + hidden.modifiedCount;
}

/** Removes expired documents in batches, by the clock of the database. */
export async function removeExpired(collection: StoredCollection, now: number): Promise<void> {
  const { expires } = collection.spec;
  if (expires === undefined) return;
  const due = { [`doc.${expires.field}`]: { $lt: now - expires.afterMs } } as MongoFilter<StoredDocument>;
  for (let matchCount = REMOVE_BATCH_SIZE; matchCount === REMOVE_BATCH_SIZE;) {
    const rows = await collection.documents
      .find(due, { limit: REMOVE_BATCH_SIZE, batchSize: REMOVE_BATCH_SIZE, projection: { _id: 1 }, ...SERVER_TIMEOUT })
      .toArray();
    matchCount = rows.length;
    if (matchCount > 0) await removeMatching(collection, { ...due, _id: { $in: rows.map(({ _id }) => _id) } });
  }
}
