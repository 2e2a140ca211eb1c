export {
  CHUNK_BYTES,
  type BlobReading,
  type Blobs,
  type BlobStatus,
  type BlobStore,
  type BlobWriter,
  type ReadOptions,
  type WriteHead,
} from './blob-store.ts';
export { mintBlobId } from './check.ts';
export { BLOB_LIMITS, type BlobLimits } from './limits.ts';
export { openBlobStore, isBlobUrl, type OpenBlobStoreOptions } from './open-blob-store.ts';
export { bytesOf, putBlob, type PutOptions, type Source } from './put-blob.ts';
export { readBlob } from './read-blob.ts';
export { serveBlobs } from './serve-blobs.ts';
