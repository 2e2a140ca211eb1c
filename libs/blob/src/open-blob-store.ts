import { resolve } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { BlobStore } from './store/blob-store.ts';
import { createBlobStore, type BlobStoreOptions } from './store/create-blob-store.ts';
import type { ConnectBlobsOptions } from './grpc/connect-blobs.ts';

export interface OpenBlobStoreOptions extends BlobStoreOptions {
  /** For a store in another process: that of the services, and how they know each other. */
  remote?: ConnectBlobsOptions;
}

const MONGODB = /^mongodb(\+srv)?:\/\/./;
const HOST = /^grpcs?:\/\/[^/?#@,]+$/;
const HOSTS = /^grpcs?:\/\/[^/?#@,]+:\d+(,[^/?#@,]+:\d+)+$/;

/**
 * Opens the blob store behind a URL: `file:DIR` on this machine, `mongodb://…` in GridFS, `grpc://host:port` or `grpcs://host:port` in another process
 * (or several, `grpc://host:port,host:port`, that have one store). What
 * one of them needs is loaded when it is opened.
 */
export async function openBlobStore(url: string, options: OpenBlobStoreOptions): Promise<BlobStore> {
  if (!isBlobUrl(url)) throw unusable('the blob URL must be file:DIR, mongodb://host:port or grpc://host:port');
  if (url.startsWith('file:')) {
    const { openFileBackend } = await import('./file/file-backend.ts');
    return createBlobStore(await openFileBackend(resolve(url.slice('file:'.length))), options);
  }
  if (MONGODB.test(url)) {
    const { openGridfsBackend } = await import('./gridfs/gridfs-backend.ts');
    return createBlobStore(await openGridfsBackend(url), options);
  }
  const { remote } = options;
  if (remote === undefined) throw unusable('the blob store in another process asks for a token');
  const { connectBlobs } = await import('./grpc/connect-blobs.ts');
  return connectBlobs(url, remote);
}

export function isBlobUrl(url: string): boolean {
  return (
    (url.startsWith('file:') && url.length > 'file:'.length) ||
    MONGODB.test(url) ||
    ((HOST.test(url) || HOSTS.test(url)) && hostsOf(url).every((host) => URL.canParse(`grpc://${host}`)))
  );
}

function hostsOf(url: string): string[] {
  return url.replace(/^grpcs?:\/\//, '').split(',');
}

function unusable(message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'BLOB_URL' } });
}
