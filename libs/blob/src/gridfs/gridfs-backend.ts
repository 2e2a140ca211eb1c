import { ServiceError, type BlobRef } from '@switchyard/contracts';
import { openBucket, type BucketFile, type BucketKey } from '@switchyard/store';
import type { BlobBackend } from '../store/blob-backend.ts';
import { blobExists, blobKept, blobOwned, unknownBlob } from '../store/blob-errors.ts';
import { CHUNK_BYTES, type KeptBlob } from '../store/blob-store.ts';

/** Determines the name of the database. */
const SERVICE = 'blobs';

/** Opens a backend that stores blobs in GridFS. */
export async function openGridfsBackend(url: string): Promise<BlobBackend> {
  const bucket = await openBucket(url, { service: SERVICE });
  return {
    async upload(key, options) {
      const upload = await bucket.upload(key, options);
      return {
        append: (bytes) => upload.append(bytes),
        commit: async (sha256) => toBlobRef(key, await translateErrors(key, () => upload.commit(sha256))),
        discard: () => upload.abort(),
      };
    },
    async find(key) {
      const file = await bucket.find(key);
      if (file === undefined) return undefined;
      return { ref: toBlobRef(key, file), ...(file.owner === undefined ? {} : { owner: file.owner }) };
    },
    async *read(key, from, to) {
      const windows = bucket.read(key, from, to);
      for (;;) {
        const { done, value: bytes } = await translateErrors(key, () => windows.next());
        if (done === true) return;
        for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
      }
    },
    async remove(key) {
      if (!(await bucket.remove(key))) throw blobKept(key.id);
    },
    async keep(key, options) {
      const file = await bucket.keep(key, options);
      if (file === undefined) return undefined;
      if (file.owner !== options.owner) throw blobOwned(key.id);
      return toKeptBlob(key.id, file);
    },
    async release(key, owner) {
      const file = await bucket.release(key, owner);
      if (file === undefined) return undefined;
      if (file.owner !== owner) throw blobOwned(key.id);
      return file.length;
    },
    listKept: async (tenant, options) => (await bucket.listKept(tenant, options)).map(({ id, ...file }) => toKeptBlob(id, file)),
    async sumKept(tenant) {
      const { files, bytes } = await bucket.sumKept(tenant);
      return { blobs: files, bytes };
    },
    sweep: (now, abandonedBefore) => bucket.sweep(now, abandonedBefore),
    close: () => bucket.close(),
  };
}

function toBlobRef({ id }: Pick<BucketKey, 'id'>, { length, owner: _owner, ...file }: BucketFile): BlobRef {
  return { id, size: length, ...file };
}

function toKeptBlob(id: string, file: BucketFile): KeptBlob {
  return { ...toBlobRef({ id }, file), owner: file.owner ?? '' };
}

async function translateErrors<T>({ id }: BucketKey, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') throw blobExists(id);
    throw error instanceof ServiceError && error.code === 'NOT_FOUND' ? unknownBlob(id) : error;
  }
}
