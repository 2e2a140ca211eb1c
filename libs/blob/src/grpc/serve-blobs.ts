import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { createBlobService, type BlobServiceOptions } from './blob-service.ts';
import { LOADER_OPTIONS, MAX_MESSAGE_BYTES, PROTO_FILE, SERVICE_NAME } from './messages.ts';

const MAX_CONNECTIONS = 256;
const MAX_CALLS_PER_CONNECTION = 128;

export interface ServeBlobsOptions extends BlobServiceOptions {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** PEM texts. With `ca` clients need a certificate of that authority. */
  tls?: { cert: string; key: string; ca?: string };
}

export interface BlobServer extends AsyncDisposable {
  readonly port: number;
}

/** Serves a blob store over gRPC. Disposing the server ends all calls; the store stays open. */
export async function serveBlobs({ host, port, tls, ...options }: ServeBlobsOptions): Promise<BlobServer> {
  const definitions = await load(PROTO_FILE, LOADER_OPTIONS);
  const server = new Server({
    'grpc.max_concurrent_streams': MAX_CALLS_PER_CONNECTION,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
  });
  server.addService(definitions[SERVICE_NAME] as unknown as ServiceDefinition, createBlobService(options));

  // gRPC has no limit for the number of connections; a listener of Node has.
  const injector = server.createConnectionInjector(createCredentials(tls));
  const listener = createServer((socket) => injector.injectConnection(socket));
  listener.maxConnections = MAX_CONNECTIONS;
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

function createCredentials(tls: ServeBlobsOptions['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, ca } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(ca === undefined ? null : Buffer.from(ca), [pair], ca !== undefined);
}
