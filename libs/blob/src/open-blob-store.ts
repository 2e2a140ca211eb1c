import { resolve } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { BlobStore } from './store/blob-store.ts';
import { createBlobStore, type BlobStoreOptions } from './store/create-blob-store.ts';
import type { ConnectBlobsOptions } from './grpc/connect-blobs.ts';

export interface OpenBlobStoreOptions extends BlobStoreOptions {
  /** Required for a store in another process. */
  remote?: ConnectBlobsOptions;
}

const MONGODB = /^mongodb(\+srv)?:\/\/./;
const HOST = /^grpcs?:\/\/[^/?#@,]+$/;
const HOSTS = /^grpcs?:\/\/[^/?#@,]+:\d+(,[^/?#@,]+:\d+)+$/;

/**
 * Opens the blob store of a URL: `file:DIR`, `mongodb://…` (GridFS), or `grpc://host:port` or `grpcs://host:port` for a store in another
 * process; several servers of one store are separated by commas. The code of an adapter is loaded when it is opened.
 */
export async function openBlobStore(url: string, options: OpenBlobStoreOptions): Promise<BlobStore> {
  if (!isBlobUrl(url)) throw invalidUrl('the blob URL must be file:DIR, mongodb://host:port or grpc://host:port');
  if (url.startsWith('file:')) {
    const { openFileBackend } = await import('./file/file-backend.ts');
    return createBlobStore(await openFileBackend(resolve(url.slice('file:'.length))), options);
  }
  if (MONGODB.test(url)) {
    const { openGridfsBackend } = await import('./gridfs/gridfs-backend.ts');
    return createBlobStore(await openGridfsBackend(url), options);
  }
  const { remote } = options;
  if (remote === undefined) throw invalidUrl('a blob store in another process requires a token');
  const { connectBlobs } = await import('./grpc/connect-blobs.ts');
  return connectBlobs(url, remote);
}

export function isBlobUrl(url: string): boolean {
  return (
    (url.startsWith('file:') && url.length > 'file:'.length) ||
    MONGODB.test(url) ||
    ((HOST.test(url) || HOSTS.test(url)) && splitHosts(url).every((host) => URL.canParse(`grpc://${host}`)))
  );
}

function splitHosts(url: string): string[] {
  return url.replace(/^grpcs?:\/\//, '').split(',');
}

function invalidUrl(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'BLOB_URL' } });
}
