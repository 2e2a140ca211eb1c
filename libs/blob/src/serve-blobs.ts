import type { BlobServer, ServeBlobsOptions } from './grpc/serve-blobs.ts';

/** As `grpc/serve-blobs.ts`, which is loaded when a store is first served. */
export async function serveBlobs(options: ServeBlobsOptions): Promise<BlobServer> {
  const served = await import('./grpc/serve-blobs.ts');
  return served.serveBlobs(options);
}
