import { ObjectId, type GridFSBucketWriteStream, type GridFSFile } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import { isDuplicateKey } from '../mongodb/connection/errors.ts';
import type { BucketFileOptions, BucketKey, BucketUpload } from './bucket.ts';
import { deleteFile, NAME, toBucketFile, type FileMetadata, type GridfsCollections } from './gridfs-files.ts';

/** An upload records its progress at this interval, so that a sweep does not take it for abandoned. */
const PROGRESS_INTERVAL_MS = 60_000;

/** Starts an upload under a new file id. The file document, which makes it visible, is written by `commit`. */
export async function openUpload(collections: GridfsCollections, key: BucketKey, options: BucketFileOptions): Promise<BucketUpload> {
  const { bucket, pending, run } = collections;
  const fileId = new ObjectId();
  let recordedAt = Date.now();
  await pending.insertOne({ _id: fileId, updatedAt: recordedAt });
  const stream = bucket.openUploadStreamWithId(fileId, key.id);
  // `call` reports errors to the caller. Without a listener the process would end.
  stream.on('error', () => undefined);
  /** Set while a write or a commit is unconfirmed. Only a sweep may delete the file then. */
  let unconfirmed = false;

  async function confirm<T>(work: () => Promise<T>): Promise<T> {
    unconfirmed = true;
    try {
      const result = await run(NAME, work);
      unconfirmed = false;
      return result;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') unconfirmed = false;
      throw error;
    }
  }

  async function recordProgress(): Promise<void> {
    recordedAt = Date.now();
    const { matchedCount } = await pending.updateOne({ _id: fileId }, { $set: { updatedAt: recordedAt } });
    if (matchedCount === 0) throw new ServiceError('ABORTED', 'the upload made no progress and was deleted');
  }

  return {
    append: (bytes) =>
      confirm(async () => {
        if (Date.now() - recordedAt > PROGRESS_INTERVAL_MS) await recordProgress();
        await call((done) => stream.write(bytes, done));
      }),
    async commit(sha256) {
      await run(NAME, recordProgress);
      stream.options.metadata = { ...options, tenant: key.tenant, sha256 } satisfies FileMetadata;
      const file = await confirm(() => finish(stream));
      await run(NAME, () => pending.deleteOne({ _id: fileId }));
      return toBucketFile(file);
    },
    async abort() {
      stream.destroy();
      if (!unconfirmed) await run(NAME, () => deleteFile(collections, fileId));
    },
  };
}

async function finish(stream: GridFSBucketWriteStream): Promise<GridFSFile> {
  await call((done) => stream.end(done)).catch((error: unknown) => {
    throw isDuplicateKey(error) ? new ServiceError('ALREADY_EXISTS', 'the file exists already') : error;
  });
  if (stream.gridFSFile === null) throw new Error('GridFS upload finished without a file document');
  return stream.gridFSFile;
}

function call(start: (done: (error?: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}
