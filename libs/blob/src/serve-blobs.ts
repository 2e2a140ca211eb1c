import type { BlobServer, ServeBlobsOptions } from './grpc/serve-blobs.ts';

/** Serves a blob store over gRPC. gRPC is loaded on the first call. */
export async function serveBlobs(options: ServeBlobsOptions): Promise<BlobServer> {
  const server = await import('./grpc/serve-blobs.ts');
  return server.serveBlobs(options);
}
