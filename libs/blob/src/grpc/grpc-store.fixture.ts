import { silentLogger } from '@switchyard/telemetry';
import type { BlobStore } from '../store/blob-store.ts';
import { connectBlobs } from './connect-blobs.ts';
import { serveBlobs } from './serve-blobs.ts';

export const TOKEN = 'a token of all services, long enough';

/** A store behind a real server, as a client sees it. Closing it closes all three. */
export async function overGrpc(open: () => Promise<BlobStore>): Promise<BlobStore> {
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
