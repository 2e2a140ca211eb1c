import type {
  ChannelCredentials,
  ChannelOptions,
  ClientReadableStream,
  ClientWritableStream,
  Metadata,
  ServiceError as GrpcError,
} from '@grpc/grpc-js';
import type { KeptUsage } from '../store/blob-store.ts';
import type {
  BlobName,
  GetRequest,
  GetResponse,
  KeepRequest,
  KeepResponse,
  ListKeptRequest,
  ListKeptResponse,
  PutRequest,
  PutResponse,
  ReleaseRequest,
  StatusResponse,
} from './messages.ts';

export type ResponseCallback<A> = (error: GrpcError | null, response?: A) => void;

/** Options of a unary call. */
export interface CallOptions {
  deadline: number;
}

/** The client that the loader generates from the proto file. */
export interface BlobStub {
  Put(metadata: Metadata, callback: ResponseCallback<PutResponse>): ClientWritableStream<PutRequest>;
  Get(request: GetRequest, metadata: Metadata): ClientReadableStream<GetResponse>;
  Status(request: BlobName, metadata: Metadata, options: CallOptions, callback: ResponseCallback<StatusResponse>): void;
  Remove(request: BlobName, metadata: Metadata, options: CallOptions, callback: ResponseCallback<object>): void;
  Keep(request: KeepRequest, metadata: Metadata, options: CallOptions, callback: ResponseCallback<KeepResponse>): void;
  Release(request: ReleaseRequest, metadata: Metadata, options: CallOptions, callback: ResponseCallback<object>): void;
  ListKept(request: ListKeptRequest, metadata: Metadata, options: CallOptions, callback: ResponseCallback<ListKeptResponse>): void;
  Usage(request: { tenant: string }, metadata: Metadata, options: CallOptions, callback: ResponseCallback<KeptUsage>): void;
  close(): void;
}

export type StubConstructor = new (address: string, credentials: ChannelCredentials, options: ChannelOptions) => BlobStub;

/** Connection, credentials and limits of calls to a remote store. */
export interface RemoteStore {
  stub: BlobStub;
  metadata: Metadata;
  tenant: string;
  idleMs: number;
}
