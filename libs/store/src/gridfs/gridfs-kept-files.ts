import type { Filter, GridFSFile } from 'mongodb';
import type { Bucket, BucketKey } from './bucket.ts';
import { deleteFile, NAME, toBucketFile, type GridfsCollections } from './gridfs-files.ts';

/** A file with this expiry time is being deleted. No caller can keep it any more. */
const DELETED = { $set: { 'metadata.expiresAt': 0 } };

/** Kept files of a bucket. Every change is one conditional update, so that a sweep or another owner cannot interfere. */
export function createKeptFiles(collections: GridfsCollections): Pick<Bucket, 'remove' | 'keep' | 'release' | 'listKept' | 'sumKept'> {
  const { files, run } = collections;

  const find = (key: BucketKey): Promise<GridFSFile | null> => run(NAME, () => files.findOne(filterByKey(key)));

  return {
    async remove(key) {
      const deleted = await run(NAME, () => files.findOneAndUpdate({ ...filterByKey(key), 'metadata.owner': { $exists: false } }, DELETED));
      if (deleted === null) return (await find(key)) === null;
      await run(NAME, () => deleteFile(collections, deleted._id));
      return true;
    },
    async keep(key, { owner, expiresAt, now }) {
      const filter = { ...filterByKey(key), 'metadata.expiresAt': { $gt: now }, 'metadata.owner': { $in: [null, owner] } };
      const change = { $set: { 'metadata.owner': owner, 'metadata.expiresAt': expiresAt } };
      const kept = await run(NAME, () => files.findOneAndUpdate(filter as Filter<GridFSFile>, change, { returnDocument: 'after' }));
      if (kept !== null) return toBucketFile(kept);
      const other = await find(key);
      return other === null || other.metadata?.['owner'] === undefined || other.metadata['owner'] === owner
        ? undefined
        : toBucketFile(other);
    },
    async release(key, owner) {
      const released = await run(NAME, () => files.findOneAndUpdate({ ...filterByKey(key), 'metadata.owner': owner }, DELETED));
      if (released !== null) {
        await run(NAME, () => deleteFile(collections, released._id));
        return toBucketFile(released);
      }
      const other = await find(key);
      return other?.metadata?.['owner'] === undefined ? undefined : toBucketFile(other);
    },
    async listKept(tenant, { owner, after, limit }) {
      const filter = { 'metadata.tenant': tenant, 'metadata.owner': owner, filename: { $gt: after } };
      const found = await run(NAME, () => files.find(filter).sort({ filename: 1 }).limit(limit).toArray());
      return found.map((file) => ({ id: file.filename, ...toBucketFile(file) }));
    },
    async sumKept(tenant) {
      const stages = [
        { $match: { 'metadata.tenant': tenant, 'metadata.owner': { $exists: true } } },
        { $group: { _id: null, files: { $sum: 1 }, bytes: { $sum: '$length' } } },
      ];
      const [sum] = await run(NAME, () => files.aggregate<{ files: number; bytes: number }>(stages).toArray());
      return { files: sum?.files ?? 0, bytes: sum?.bytes ?? 0 };
    },
  };
}

/** Marks an expired file as deleted. Returns false if it was kept in the meantime. */
export async function claimExpired({ files, run }: GridfsCollections, _id: GridFSFile['_id'], now: number): Promise<boolean> {
  const { matchedCount } = await run(NAME, () => files.updateOne({ _id, 'metadata.expiresAt': { $lte: now } }, DELETED));
  return matchedCount === 1;
}

function filterByKey({ tenant, id }: BucketKey): Filter<GridFSFile> {
  return { filename: id, 'metadata.tenant': tenant };
}
