import type {
  ChannelCredentials,
  ChannelOptions,
  ClientReadableStream,
  ClientWritableStream,
  Metadata,
  ServiceError as GrpcError,
} from '@grpc/grpc-js';
import type { GetRequest, GetResponse, Named, PutRequest, PutResponse, StatusResponse } from './messages.ts';

export type Answer<A> = (error: GrpcError | null, response?: A) => void;
interface How {
  deadline: number;
}

/** What the loader makes of the service. */
export interface BlobStub {
  Put(metadata: Metadata, answer: Answer<PutResponse>): ClientWritableStream<PutRequest>;
  Get(request: GetRequest, metadata: Metadata): ClientReadableStream<GetResponse>;
  Status(request: Named, metadata: Metadata, how: How, answer: Answer<StatusResponse>): void;
  Remove(request: Named, metadata: Metadata, how: How, answer: Answer<object>): void;
  close(): void;
}

export type StubConstructor = new (address: string, how: ChannelCredentials, options: ChannelOptions) => BlobStub;

/** What a call to the other side needs. */
export interface Remote {
  stub: BlobStub;
  metadata: Metadata;
  tenant: string;
  idleMs: number;
}
