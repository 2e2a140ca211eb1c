import { credentials, loadPackageDefinition, type ChannelCredentials, type GrpcObject } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { ServiceError } from '@switchyard/contracts';
import { BLOB_LIMITS } from '../store/blob-limits.ts';
import { LIST_PAGE_SIZE, type Blobs, type BlobStore, type KeptBlob, type KeptUsage } from '../store/blob-store.ts';
import {
  validateHead,
  validateId,
  validateKeep,
  validateList,
  validateOwner,
  validateRange,
  validateTenant,
} from '../store/validate-blob.ts';
import type { CallOptions, RemoteStore, ResponseCallback, StubConstructor } from './client-stub.ts';
import { createTokenMetadata } from './credentials.ts';
import { toServiceError } from './grpc-errors.ts';
import {
  LOADER_OPTIONS,
  MAX_MESSAGE_BYTES,
  PROTO_FILE,
  type KeepResponse,
  type KeptMessage,
  type ListKeptResponse,
  type StatusResponse,
} from './messages.ts';
import { registerHosts } from './multi-host-resolver.ts';
import { openRemoteReader } from './remote-reader.ts';
import { openRemoteWriter } from './remote-writer.ts';

const UNARY_TIMEOUT_MS = 10_000;

export interface ConnectBlobsOptions {
  /** The token that all services share. */
  token: string;
  /** PEM texts. Without `ca` the system's authorities apply; `cert` and `key` are the client certificate, if the server requires one. */
  tls?: { ca?: string; cert?: string; key?: string };
  /** Maximum time without progress in a transfer. */
  idleMs?: number;
}

/**
 * Connects to a blob store in another process: `grpc://host:port`, or `grpcs://` with TLS. Several servers of one store are separated
 * by commas; the client uses another one if one is down. The connection is made on the first call.
 */
export async function connectBlobs(url: string, { token, tls = {}, idleMs = BLOB_LIMITS.idleMs }: ConnectBlobsOptions): Promise<BlobStore> {
  const [scheme = '', hosts = ''] = url.split('://');
  const { v1 } = (loadPackageDefinition(await load(PROTO_FILE, LOADER_OPTIONS))['switchyard'] as GrpcObject)['blob'] as GrpcObject;
  const { BlobService } = v1 as unknown as { BlobService: StubConstructor };
  const stub = new BlobService(
    hosts.includes(',') ? registerHosts(hosts) : hosts,
    scheme === 'grpcs' ? createTlsCredentials(tls) : credentials.createInsecure(),
    {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 5_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
      // `putBlob` and `readBlob` retry.
      'grpc.enable_retries': 0,
    },
  );
  const metadata = createTokenMetadata(token);
  return {
    for({ tenant }) {
      validateTenant(tenant);
      return createRemoteBlobs({ stub, metadata, tenant, idleMs });
    },
    close() {
      stub.close();
      return Promise.resolve();
    },
  };
}

function createRemoteBlobs(remote: RemoteStore): Blobs {
  const { stub, metadata, tenant } = remote;
  return {
    async write(head, options = {}) {
      validateHead(head);
      return openRemoteWriter(remote, head, options);
    },
    async status(id) {
      validateId(id);
      const { ref } = await callUnary<StatusResponse>((options, callback) => stub.Status({ tenant, id }, metadata, options, callback));
      if (!ref) throw new ServiceError('INTERNAL', 'The blob store sent a status without a reference.');
      return ref;
    },
    async read(id, options = {}) {
      validateId(id);
      validateRange(options);
      return openRemoteReader(remote, id, options);
    },
    async remove(id) {
      validateId(id);
      await callUnary<object>((options, callback) => stub.Remove({ tenant, id }, metadata, options, callback));
    },
    async keep(id, { owner, expiresAt = 0 }) {
      validateKeep(id, { owner, expiresAt });
      const request = { tenant, id, owner, expiresAt };
      const { blob } = await callUnary<KeepResponse>((options, callback) => stub.Keep(request, metadata, options, callback));
      if (!blob) throw new ServiceError('INTERNAL', 'The blob store sent no kept blob.');
      return toKeptBlob(blob);
    },
    async release(id, owner) {
      validateId(id);
      validateOwner(owner);
      await callUnary<object>((options, callback) => stub.Release({ tenant, id, owner }, metadata, options, callback));
    },
    async listKept({ owner, after = '', limit = LIST_PAGE_SIZE }) {
      validateList({ owner, after, limit });
      const request = { tenant, owner, after, limit };
      const { blobs } = await callUnary<ListKeptResponse>((options, callback) => stub.ListKept(request, metadata, options, callback));
      return blobs.map(toKeptBlob);
    },
    usage: () => callUnary<KeptUsage>((options, callback) => stub.Usage({ tenant }, metadata, options, callback)),
  };
}

function toKeptBlob({ ref, owner }: KeptMessage): KeptBlob {
  return { ...ref, owner };
}

function callUnary<A>(call: (options: CallOptions, callback: ResponseCallback<A>) => void): Promise<A> {
  return new Promise((resolve, reject) => {
    call({ deadline: Date.now() + UNARY_TIMEOUT_MS }, (error, response) => {
      if (error) reject(toServiceError(error));
      else resolve(response as A);
    });
  });
}

function createTlsCredentials({ ca, cert, key }: NonNullable<ConnectBlobsOptions['tls']>): ChannelCredentials {
  const toBuffer = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return credentials.createSsl(toBuffer(ca), toBuffer(key), toBuffer(cert));
}
