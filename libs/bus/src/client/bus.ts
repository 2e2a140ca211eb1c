import type {
  BucketDefinition,
  CallName,
  Callable,
  Chunk,
  Contract,
  EventName,
  EventPayload,
  Input,
  LogDefinition,
  Params,
  Principal,
  Replica,
  ReplicaReadiness,
  Result,
  ServiceError,
  ServiceName,
  StreamName,
  UnaryName,
} from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { EncodedJson } from '../wire/encoding.ts';
import type { CallHead } from '../wire/headers.ts';
import type { LargePayload } from '../payloads/large-payloads.ts';
import type { ParamsDecryption } from '../payloads/sealed-payloads.ts';
import type { Bucket, Log, Message, Subscription } from '../wire/transport.ts';

export interface CallOptions {
  /** Shortens the deadline of the contract. Never extends the remaining time of the caller's own deadline. */
  timeoutMs?: number;
  /** Aborting cancels the call on the service. The call fails with CANCELLED. */
  signal?: AbortSignal;
  requestId?: string;
  traceparent?: string;
  /**
   * Calls an operation on this replica only. Fails UNAVAILABLE with the reason `NO_RESPONDERS` when the replica is gone, so that its work
   * can be claimed by another one.
   */
  replica?: string;
  /** Idempotency key: unique per intended action, repeated on retries. One line of printable ASCII. */
  key?: string;
}

/** Context of a call, passed to its handler. */
export interface Ctx {
  readonly principal: Principal;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** The caller's idempotency key. It distinguishes a retry from a new call. */
  readonly key: string | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
  /** Aborts when the caller disconnects, cancels or exceeds its deadline. Created on first access. */
  readonly signal: AbortSignal;
  /** Carries the request's ids. Created on first access. */
  readonly log: Logger;
  /** Same as `bus.call`, for the same principal and within the remaining deadline. */
  call<N extends UnaryName>(name: N, params: Params<N>, options?: CallOptions): Promise<Result<N>>;
  stream<N extends StreamName>(name: N, params: Params<N>, options?: CallOptions): AsyncGenerator<Chunk<N>, Result<N>, void>;
  /** Publishes an event without delivery guarantee. Events that must not be lost are written to the outbox (docs/decisions/0007). */
  emit<N extends EventName>(name: N, payload: EventPayload<N>): void;
}

/** Context of a streaming call. */
export interface StreamCtx<N extends StreamName> extends Ctx {
  /** Sends a chunk immediately. Cheaper than a yield. Throws if the chunk does not fit a message. */
  readonly send: (chunk: Chunk<N>) => void;
}

/** Handles one method or operation. Params are validated before. The handler of a streaming method is an async generator. */
export type Handler<N extends CallName> = N extends StreamName
  ? (params: Input<N>, ctx: StreamCtx<N>) => AsyncGenerator<Chunk<N>, Result<N>, void>
  : (params: Input<N>, ctx: Ctx) => Promise<Result<N>> | Result<N> | EncodedJson<Result<N>>;

/** The handlers of a service. A method without a handler is not served; its callers get UNAVAILABLE. */
export type Handlers<C extends Contract> = {
  [N in (keyof C['methods'] | keyof C['operations']) & CallName]?: Handler<N>;
};

export interface ServeOptions {
  version: string;
  /** Identifies the replica in discovery. */
  replica?: string;
  log?: Logger;
  /** Readiness that discovery reports for this replica (`discover` with `includeStats`). */
  readiness?: () => ReplicaReadiness;
  /** Required if a method has sealed params. */
  paramsDecryption?: ParamsDecryption | undefined;
}

export interface Served {
  /** Names of the served methods and operations. */
  readonly names: readonly CallName[];
  /** Stops accepting calls and waits up to `graceMs` for running calls. Cancels the remaining ones. */
  drain(graceMs: number): Promise<void>;
}

export interface PublishOptions {
  /** Delivered to current subscribers only; logs do not store it. */
  ephemeral?: boolean;
}

/** Reply of a forwarded call: the result as JSON bytes, a reference to a large result, or an error. */
export type Reply =
  | { data: Uint8Array; large?: undefined; error?: undefined }
  | { data?: undefined; large: LargePayload; error?: undefined }
  | { data?: undefined; large?: undefined; error: ServiceError };

/** Receives the frames of a forwarded stream. Nothing is called after `end`. */
export interface StreamSink {
  /** One chunk as JSON bytes. */
  chunk(data: Uint8Array): void;
  /** The result as JSON bytes, or the error. */
  end(how: Uint8Array | ServiceError): void;
}

export interface BusEvent<N extends EventName = EventName> {
  name: N;
  payload: EventPayload<N>;
  tenant: string;
}

export interface OnOptions {
  /** With a queue group, each event reaches one member of the group. Without one, it reaches every subscriber. */
  queue?: string;
}

export interface DiscoverOptions {
  /** Includes the readiness of each replica and the call statistics of its methods. */
  includeStats?: boolean;
  /** Resolves early when a replica of each of these services has answered. */
  requiredServices?: readonly ServiceName[];
  /** How long responses are collected, in milliseconds. 250 by default; a busy replica may answer later. */
  windowMs?: number;
}

/** Typed calls, streams and events. The five verbs are call, stream, emit, on, serve. */
export interface Bus {
  readonly maxPayload: number;
  /** The same bus for another principal. */
  as(principal: Principal): Bus;
  /** Rejects with a ServiceError: UNAVAILABLE immediately without a running service, DEADLINE_EXCEEDED, or the handler's error. */
  call<N extends UnaryName>(name: N, params: Params<N>, options?: CallOptions): Promise<Result<N>>;
  /** Yields chunks in order and returns the result. Leaving the loop cancels the call. */
  stream<N extends StreamName>(name: N, params: Params<N>, options?: CallOptions): AsyncGenerator<Chunk<N>, Result<N>, void>;
  emit<N extends EventName>(name: N, payload: EventPayload<N>): void;
  /** Same as `emit`, but resolves once the event log has stored the event. Duplicate ids are stored once. Used by outboxes. */
  record(event: { id: string; name: string; payload: unknown; tenant: string }): Promise<void>;
  on<N extends EventName>(name: N, onEvent: (event: BusEvent<N>) => void, options?: OnOptions): Subscription;
  serve<C extends Contract>(contract: C, handlers: Handlers<C>, options: ServeOptions): Promise<Served>;

  /**
   * Calls a method with JSON bytes, without promises or parsing. Used by the gateway. The returned function cancels the call; `onReply` is
   * not called afterwards.
   */
  forward(callable: Callable, params: Uint8Array, head: CallHead, onReply: (reply: Reply) => void): () => void;

  /**
   * Same as `forward` for streaming methods. Chunks are delivered as they arrive; the caller must bound its own buffer. The returned
   * function cancels the call.
   */
  forwardStream(callable: Callable, params: Uint8Array, head: CallHead, sink: StreamSink): () => void;

  /** Publishes bytes on a subject of `contracts`, in order. Used for turn frames and notifications. */
  publish(subject: string, data: Uint8Array, options?: PublishOptions): void;
  subscribe(subject: string, onMessage: (message: Message) => void): Subscription;
  log(definition: LogDefinition): Promise<Log>;
  kv(definition: BucketDefinition): Promise<Bucket>;

  /** Wakes one replica of a service to check for work. A lost wake-up only adds latency. */
  wake(service: ServiceName): void;
  onWake(service: ServiceName, onWake: () => void): Subscription;

  /**
   * Lists the replicas of all services that answer within 250 ms, at most 1,000. A dead replica disappears immediately; an overloaded one
   * may be missing. Rejects with UNAVAILABLE while the bus is unreachable.
   */
  discover(options?: DiscoverOptions): Promise<Replica[]>;
  /**
   * Whether the connection of a replica exists. A killed process loses it at once; a process that hangs keeps it. Takes 250 ms for a
   * connected replica. Rejects with UNAVAILABLE while the bus is unreachable.
   */
  isReplicaConnected(service: ServiceName, replica: string): Promise<boolean>;
  flush(): Promise<void>;
  connected(): boolean;
  /**
   * Runs `restore` after every outage and retries until it succeeds. Logs and buckets exist again but may be empty, so the owner of their
   * content writes it again. The returned function removes the listener.
   */
  onRestored(restore: () => Promise<void> | void): () => void;
  /** Resolves when the connection is closed permanently: after a drain, or after the server rejected it. */
  readonly closed: Promise<void>;
  /** Fails all pending calls and streams of this process and cancels them remotely. Used when a shutdown cannot wait. */
  abandon(): void;
  /** Waits for running calls, then closes the transport. */
  drain(): Promise<void>;
}
