export {
  CHUNK_BYTES,
  type BlobReading,
  type Blobs,
  type BlobStore,
  type BlobWriter,
  type KeepOptions,
  type KeptBlob,
  type KeptUsage,
  type ListKeptOptions,
  NO_EXPIRY_MS,
  type ReadOptions,
  type WriteHead,
} from './store/blob-store.ts';
export { mintBlobId } from './store/validate-blob.ts';
export { BLOB_LIMITS, type BlobLimits } from './store/blob-limits.ts';
export { openBlobStore, isBlobUrl, type OpenBlobStoreOptions } from './open-blob-store.ts';
export { createSource, putBlob, type PutOptions, type Source } from './transfer/put-blob.ts';
export { readBlob } from './transfer/read-blob.ts';
export { serveBlobs } from './serve-blobs.ts';
