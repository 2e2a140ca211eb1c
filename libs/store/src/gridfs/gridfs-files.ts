import type { Collection, GridFSBucket, GridFSFile, ObjectId } from 'mongodb';
import type { Operations } from '../mongodb/connection/operations.ts';
import type { BucketFile, BucketFileOptions } from './bucket.ts';

/** Used in error messages. */
export const NAME = 'bucket';

/** Metadata of a file in GridFS. */
export type FileMetadata = BucketFileOptions & { tenant: string; sha256: string; owner?: string };

/** A file whose chunks may exist without a file document: an upload or a deletion is in progress, or was interrupted by a crash. */
export interface PendingFile {
  _id: ObjectId;
  updatedAt: number;
}

/** The collections of a bucket. */
export interface GridfsCollections {
  bucket: GridFSBucket;
  files: Collection<GridFSFile>;
  pending: Collection<PendingFile>;
  run: Operations['run'];
}

export function toBucketFile({ length, uploadDate, metadata }: GridFSFile): BucketFile {
  const { contentType, expiresAt, sha256, owner } = metadata as FileMetadata;
  return { length, contentType, expiresAt, sha256, savedAt: uploadDate.getTime(), ...(owner === undefined ? {} : { owner }) };
}

/** Deletes the file document and the chunks. If the process crashes in between, a sweep deletes the remaining chunks. */
export async function deleteFile({ bucket, pending }: GridfsCollections, fileId: ObjectId): Promise<void> {
  await pending.updateOne({ _id: fileId }, { $set: { updatedAt: Date.now() } }, { upsert: true });
  await bucket.delete(fileId).catch((error: Error) => {
    // The driver has no error class or code for this. It deletes the chunks before it throws.
    if (!error.message.startsWith('File not found')) throw error;
  });
  await pending.deleteOne({ _id: fileId });
}
