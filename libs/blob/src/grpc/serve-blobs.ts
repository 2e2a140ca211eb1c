import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { blobService, type BlobServiceOptions } from './blob-service.ts';
import { LARGEST_MESSAGE, LOADING, PROTO, SERVICE } from './messages.ts';

const MOST_CONNECTIONS = 256;
/** Of one connection. */
const MOST_CALLS = 128;

export interface ServeBlobsOptions extends BlobServiceOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Texts in PEM. With `ca` a caller needs a certificate of it too. */
  tls?: { cert: string; key: string; ca?: string };
}

export interface BlobServer extends AsyncDisposable {
  readonly port: number;
}

/** Serves a blob store over gRPC. Disposing it cuts what runs, which can be continued elsewhere; the store stays open. */
export async function serveBlobs({ host, port, tls, ...options }: ServeBlobsOptions): Promise<BlobServer> {
  const definitions = await load(PROTO, LOADING);
  const server = new Server({
    'grpc.max_concurrent_streams': MOST_CALLS,
    'grpc.max_receive_message_length': LARGEST_MESSAGE,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
  });
  server.addService(definitions[SERVICE] as unknown as ServiceDefinition, blobService(options));

  // Ours, because only it bounds the number of connections.
  const injector = server.createConnectionInjector(credentialsOf(tls));
  const listener = createServer((socket) => injector.injectConnection(socket));
  listener.maxConnections = MOST_CONNECTIONS;
  listener.listen(port, host);
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      injector.destroy();
      server.forceShutdown();
      await closed;
    },
  };
}

function credentialsOf(tls: ServeBlobsOptions['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, ca } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(ca === undefined ? null : Buffer.from(ca), [pair], ca !== undefined);
}
