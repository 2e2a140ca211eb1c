import { buffer } from 'node:stream/consumers';
import { GridFSBucket, type Db, type GridFSFile } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { buildDatabaseName, parseStoreUrl } from '../mongodb/connection/store-url.ts';
import { connect } from '../mongodb/connection/connect.ts';
import { translateError } from '../mongodb/connection/errors.ts';
import { createOperations, type Operations } from '../mongodb/connection/operations.ts';
import type { Bucket, BucketKey } from './bucket.ts';
import { deleteFile, NAME, toBucketFile, type GridfsCollections, type PendingFile } from './gridfs-files.ts';
import { claimExpired, createKeptFiles } from './gridfs-kept-files.ts';
import { openUpload } from './gridfs-upload.ts';

const BUCKET_NAME = 'blobs';
const SWEEP_BATCH_SIZE = 100;
/** Four chunks of GridFS. The driver's read stream would otherwise fetch 16 MiB at once. */
const READ_WINDOW_BYTES = 4 * 261_120;

/** Opens the GridFS bucket of a service in its database. All replicas of the service share it. */
export async function openGridfsBucket(url: string, service: string): Promise<Bucket> {
  const address = parseStoreUrl(url);
  const client = await connect(address, `switchyard-${service}`);
  const operations = createOperations();
  const collections = await openCollections(client.db(buildDatabaseName(address, service)), operations).catch(async (error: unknown) => {
    await client.close();
    throw translateError(NAME, error);
  });
  const { run } = operations;
  return {
    upload: (key, options) => run(NAME, () => openUpload(collections, key, options)),
    async find(key) {
      const file = await run(NAME, () => findFile(collections, key));
      return file === null ? undefined : toBucketFile(file);
    },
    read: (key, from, to) => read(collections, key, { from, to }),
    ...createKeptFiles(collections),
    sweep: (now, abandonedBefore) => sweep(collections, now, abandonedBefore),
    async close() {
      await operations.close();
      await client.close();
    },
  };
}

async function openCollections(db: Db, { run }: Operations): Promise<GridfsCollections> {
  const bucket = new GridFSBucket(db, { bucketName: BUCKET_NAME });
  const files = db.collection<GridFSFile>(`${BUCKET_NAME}.files`);
  const pending = db.collection<PendingFile>(`${BUCKET_NAME}.pending`);
  await files.createIndex({ filename: 1, 'metadata.tenant': 1 }, { unique: true });
  await files.createIndex({ 'metadata.expiresAt': 1 });
  await files.createIndex(
    { 'metadata.tenant': 1, 'metadata.owner': 1, filename: 1 },
    { partialFilterExpression: { 'metadata.owner': { $exists: true } } },
  );
  await pending.createIndex({ updatedAt: 1 });
  return { bucket, files, pending, run };
}

function findFile({ files }: GridfsCollections, { tenant, id }: BucketKey): Promise<GridFSFile | null> {
  return files.findOne({ filename: id, 'metadata.tenant': tenant });
}

async function* read(
  collections: GridfsCollections,
  key: BucketKey,
  { from, to }: { from: number; to: number },
): AsyncGenerator<Uint8Array, void, void> {
  const { bucket, run } = collections;
  const file = await run(NAME, () => findFile(collections, key));
  if (file === null) throw notFound();
  for (let start = from; start < to;) {
    const end = Math.min(to, file.length, (Math.floor(start / READ_WINDOW_BYTES) + 1) * READ_WINDOW_BYTES);
    const bytes = await run(NAME, () => buffer(bucket.openDownloadStream(file._id, { start, end })).catch(rejectIncompleteFile));
    // The driver's stream ends early if the last chunks are missing.
    if (bytes.length < end - start) throw notFound();
    start = end;
    yield bytes;
  }
}

/** The driver fails with these errors when the file was deleted while it is read. */
function rejectIncompleteFile(error: Error & { code?: unknown }): never {
  throw error.name === 'MongoGridFSChunkError' || error.code === 'ENOENT' ? notFound() : error;
}

function notFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'the file does not exist or was deleted');
}

async function sweep(collections: GridfsCollections, now: number, abandonedBefore: number): Promise<number> {
  const { files, pending, run } = collections;
  const options = { projection: { _id: 1 }, limit: SWEEP_BATCH_SIZE } as const;
  let removed = 0;
  for (;;) {
    const expired = await run(NAME, () => files.find({ 'metadata.expiresAt': { $lte: now } }, options).toArray());
    if (expired.length === 0) break;
    for (const { _id } of expired) if (await claimExpired(collections, _id, now)) await run(NAME, () => deleteFile(collections, _id));
    removed += expired.length;
  }
  for (const { _id } of await run(NAME, () => pending.find({ updatedAt: { $lte: abandonedBefore } }, options).toArray())) {
    const isComplete = (await run(NAME, () => files.findOne({ _id }, { projection: { _id: 1 } }))) !== null;
    await run(NAME, async () => {
      if (isComplete) await pending.deleteOne({ _id });
      else await deleteFile(collections, _id);
    });
    removed++;
  }
  return removed;
}
