import { credentials, loadPackageDefinition, type ChannelCredentials, type GrpcObject } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import type { Blobs, BlobStatus, BlobStore } from '../store/blob-store.ts';
import { checkHead, checkId, checkRange, checkTenant } from '../store/validate-blob.ts';
import { BLOB_LIMITS } from '../store/blob-limits.ts';
import { withToken } from './credentials.ts';
import { toError } from './grpc-errors.ts';
import { LARGEST_MESSAGE, LOADING, PROTO, type Named, type StatusResponse } from './messages.ts';
import { openRemoteReading } from './remote-reader.ts';
import { openRemoteWriter } from './remote-writer.ts';
import { severalHosts } from './multi-host-resolver.ts';
import type { Answer, Remote, StubConstructor } from './client-stub.ts';

const ANSWER_MS = 10_000;

export interface ConnectBlobsOptions {
  /** Who we are: that of all services. */
  token: string;
  /** Texts in PEM. Without `ca` the certificates of this machine count; `cert` and `key` are ours, where the server asks for them. */
  tls?: { ca?: string; cert?: string; key?: string };
  /** A transfer in which nothing moves for so long is given up. */
  idleMs?: number;
}

/**
 * A blob store in another process: `grpc://host:port`, or `grpcs://` with TLS. Several processes that have one store are joined by
 * commas: another one is taken when one is away. It is connected to when it is first needed.
 */
export async function connectBlobs(url: string, { token, tls = {}, idleMs = BLOB_LIMITS.idleMs }: ConnectBlobsOptions): Promise<BlobStore> {
  const [scheme = '', hosts = ''] = url.split('://');
  const { v1 } = (loadPackageDefinition(await load(PROTO, LOADING))['switchyard'] as GrpcObject)['blob'] as GrpcObject;
  const { BlobService } = v1 as unknown as { BlobService: StubConstructor };
  const stub = new BlobService(
    hosts.includes(',') ? severalHosts(hosts) : hosts,
    scheme === 'grpcs' ? secure(tls) : credentials.createInsecure(),
    {
      'grpc.max_receive_message_length': LARGEST_MESSAGE,
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 5_000,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2_000,
      // Transfers are continued, not repeated.
      'grpc.enable_retries': 0,
    },
  );
  const metadata = withToken(token);
  return {
    for({ tenant }) {
      checkTenant(tenant);
      return blobsOf({ stub, metadata, tenant, idleMs });
    },
    close() {
      stub.close();
      return Promise.resolve();
    },
  };
}

function blobsOf(remote: Remote): Blobs {
  const { stub, metadata, tenant } = remote;
  return {
    async write(head, options = {}) {
      checkHead(head);
      return openRemoteWriter(remote, head, options);
    },
    async status(id): Promise<BlobStatus> {
      checkId(id);
      const { offset, ref } = await asked<StatusResponse>((how, answer) =>
        stub.Status({ tenant, id } satisfies Named, metadata, how, answer),
      );
      return { offset, ref: ref ?? undefined };
    },
    async read(id, options = {}) {
      checkId(id);
      checkRange(options);
      return openRemoteReading(remote, id, options);
    },
    async remove(id) {
      checkId(id);
      await asked<object>((how, answer) => stub.Remove({ tenant, id }, metadata, how, answer));
    },
  };
}

/** A call with one answer. */
function asked<A>(call: (how: { deadline: number }, answer: Answer<A>) => void): Promise<A> {
  return new Promise((resolve, reject) => {
    call({ deadline: Date.now() + ANSWER_MS }, (error, response) => {
      if (error) reject(toError(error));
      else resolve(response as A);
    });
  });
}

function secure({ ca, cert, key }: NonNullable<ConnectBlobsOptions['tls']>): ChannelCredentials {
  const bytes = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return credentials.createSsl(bytes(ca), bytes(key), bytes(cert));
}
