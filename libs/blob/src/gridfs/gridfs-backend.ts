import { ServiceError, type BlobRef } from '@switchyard/contracts';
import { openBucket, type Bucket, type BucketFile, type BucketKey, type BucketUpload } from '@switchyard/store';
import type { Backend, Upload } from '../store/blob-backend.ts';
import { CHUNK_BYTES } from '../store/blob-store.ts';
import { alreadyWhole, takenOver } from '../store/blob-errors.ts';

/** Names the database. */
const SERVICE = 'blobs';

/** Blobs in GridFS. Any number of processes may work in it, each on what another began. */
export async function openGridfsBackend(url: string): Promise<Backend> {
  const bucket = await openBucket(url, { service: SERVICE });
  return {
    open: async (key, facts) => uploadIn(bucket, key, await told(key, () => bucket.open(key, facts))),
    async find(key) {
      const file = await bucket.find(key);
      return file && { offset: file.length, ref: refOf(key, file) };
    },
    read: (key, from, to) => pieces(bucket.read(key, from, to)),
    remove: (key) => bucket.remove(key),
    uploads: (tenant) => bucket.unfinished(tenant),
    sweep: (now, abandoned) => bucket.sweep(now, abandoned),
    close: () => bucket.close(),
  };
}

function uploadIn(bucket: Bucket, key: BucketKey, upload: BucketUpload): Upload {
  return {
    get offset() {
      return upload.length;
    },
    contents: () => pieces(bucket.read(key, 0, upload.length)),
    append: (bytes) => told(key, () => upload.append(bytes)),
    commit: async (sha256) => refOf(key, await told(key, () => upload.commit(sha256))) as BlobRef,
    discard: () => upload.discard(),
    release: () => upload.release(),
  };
}

function refOf({ id }: BucketKey, { length, sha256, contentType, expiresAt, savedAt = 0 }: BucketFile): BlobRef | undefined {
  return sha256 === undefined ? undefined : { id, size: length, sha256, contentType, expiresAt, savedAt };
}

/** What the database says of a file, in the words of a blob. */
async function told<T>({ id }: BucketKey, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'ALREADY_EXISTS') throw alreadyWhole(id);
    throw error.code === 'ABORTED' ? takenOver(id) : error;
  }
}

async function* pieces(large: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  for await (const bytes of large) for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}
