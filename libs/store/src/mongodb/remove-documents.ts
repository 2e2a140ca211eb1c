import type { Filter as MongoFilter } from 'mongodb';
import { NOBODYS } from './publication-lease.ts';
import type { Kept, KeptCollection } from './stored-document.ts';
import { IN_TIME } from './connection/timeouts.ts';

const BATCH = 1_000;

/**
 * Removes what a query finds. What owes events stays, seen by no query, until they are published; the claim makes sure that whoever
 * looks for such documents finds this one too, even if it was paid just now.
 */
export async function removeMatching({ documents }: KeptCollection, query: MongoFilter<Kept>): Promise<number> {
  const { deletedCount } = await documents.deleteMany({ ...query, claim: { $exists: false } }, IN_TIME);
  const hidden = await documents.updateMany(
    query,
    { $rename: { tenant: 'gone' }, $unset: { doc: '', unique: '' }, $set: { bytes: 0 }, $inc: { rev: 1 }, $max: { claim: NOBODYS } },
    IN_TIME,
  );
  return deletedCount + hidden.modifiedCount;
}

/** What is past its time by the database's clock, some at a time. */
export async function removeExpired(kept: KeptCollection, now: number): Promise<void> {
  const { expires } = kept.spec;
  if (expires === undefined) return;
  const due = { [`doc.${expires.field}`]: { $lt: now - expires.afterMs } } as MongoFilter<Kept>;
  for (let found = BATCH; found === BATCH;) {
    const rows = await kept.documents.find(due, { limit: BATCH, batchSize: BATCH, projection: { _id: 1 }, ...IN_TIME }).toArray();
    found = rows.length;
    if (found > 0) await removeMatching(kept, { ...due, _id: { $in: rows.map(({ _id }) => _id) } });
  }
}
