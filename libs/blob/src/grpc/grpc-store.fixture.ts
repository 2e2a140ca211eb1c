import { silentLogger } from '@switchyard/telemetry';
import type { BlobStore } from '../store/blob-store.ts';
import { connectBlobs } from './connect-blobs.ts';
import { serveBlobs } from './serve-blobs.ts';

export const TOKEN = 'a token of at least 32 characters';

/** Serves a store over gRPC and returns a client. Closing the client also closes the server and the store. */
export async function openOverGrpc(open: () => Promise<BlobStore>): Promise<BlobStore> {
  const store = await open();
  const server = await serveBlobs({ store, host: '127.0.0.1', port: 0, token: TOKEN, log: silentLogger() });
  const client = await connectBlobs(`grpc://127.0.0.1:${server.port}`, { token: TOKEN });
  return {
    for: (principal) => client.for(principal),
    async close() {
      await client.close();
      await store.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
