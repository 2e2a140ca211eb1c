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
  /** Shortens the contract's deadline, never lengthens what is left of the caller's own. */
  timeoutMs?: number;
  /** Aborting tells the other side to stop; the call fails CANCELLED. */
  signal?: AbortSignal;
  requestId?: string;
  traceparent?: string;
  /** Names this call among all that its caller ever makes; whoever makes it again says the same. One line of printable ASCII. */
  key?: string;
}

/** What a handler knows besides its params. */
export interface Ctx {
  readonly principal: Principal;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** What its caller named the call, so that doing it twice can be told from doing two things. */
  readonly key: string | undefined;
  /** Epoch milliseconds. */
  readonly deadline: number;
  /** Aborts when the caller leaves, cancels or runs out of time. Made when first read. */
  readonly signal: AbortSignal;
  /** Bound to the request's ids. Made when first read. */
  readonly log: Logger;
  /** As `bus.call`, for the same principal, within what is left of the deadline. */
  call<N extends UnaryName>(name: N, params: Params<N>, options?: CallOptions): Promise<Result<N>>;
  stream<N extends StreamName>(name: N, params: Params<N>, options?: CallOptions): AsyncGenerator<Chunk<N>, Result<N>, void>;
  /** Tells the world; may be lost. What must not be lost is emitted by the write itself (docs/decisions/0007). */
  emit<N extends EventName>(name: N, payload: EventPayload<N>): void;
}

/** What a handler that streams knows besides. */
export interface StreamCtx<N extends StreamName> extends Ctx {
  /** Sends a chunk now, before what is yielded after it: a yield costs more than most chunks. Throws for one that fits no message. */
  readonly send: (chunk: Chunk<N>) => void;
}

/** Answers one method or operation. Params are validated already. A streaming one is an async generator. */
export type Handler<N extends CallName> = N extends StreamName
  ? (params: Input<N>, ctx: StreamCtx<N>) => AsyncGenerator<Chunk<N>, Result<N>, void>
  : (params: Input<N>, ctx: Ctx) => Promise<Result<N>> | Result<N> | EncodedJson<Result<N>>;

/** What a service answers. A declared method without a handler is not served: callers get UNAVAILABLE. */
export type Handlers<C extends Contract> = {
  [N in (keyof C['methods'] | keyof C['operations']) & CallName]?: Handler<N>;
};

export interface ServeOptions {
  version: string;
  /** Stands in discovery, so that replicas can be told apart. */
  replica?: string;
  log?: Logger;
  /** How it is, for whoever looks closely (`discover`). */
  readiness?: () => ReplicaReadiness;
  /** Required if a method has sealed params. */
  paramsDecryption?: ParamsDecryption | undefined;
}

export interface Served {
  /** Names now answered. */
  readonly names: readonly CallName[];
  /** Stops taking calls, waits for those that run, at most `graceMs`, then cancels them. */
  drain(graceMs: number): Promise<void>;
}

export interface PublishOptions {
  /** Heard by those who listen now, and kept by no log. */
  ephemeral?: boolean;
}

/** The answer as it came: bytes of final JSON, those bytes to be fetched, or the error. */
export type Reply =
  | { data: Uint8Array; large?: undefined; error?: undefined }
  | { data?: undefined; large: LargePayload; error?: undefined }
  | { data?: undefined; large?: undefined; error: ServiceError };

/** Hears a stream as it comes. Nothing is told after its end. */
export interface StreamSink {
  /** One chunk: bytes of final JSON. */
  chunk(data: Uint8Array): void;
  /** The bytes of the result, or the error. */
  end(how: Uint8Array | ServiceError): void;
}

export interface BusEvent<N extends EventName = EventName> {
  name: N;
  payload: EventPayload<N>;
  tenant: string;
}

export interface OnOptions {
  /** With a queue group each event reaches one member; without, every subscriber. */
  queue?: string;
}

export interface DiscoverOptions {
  /** With what each says of its readiness, and what each of its methods was asked. */
  includeStats?: boolean;
  /** Ends as soon as somebody of each of these services has answered. */
  requiredServices?: readonly ServiceName[];
}

/** Typed calls, streams and events. The five verbs are call, stream, emit, on, serve. */
export interface Bus {
  readonly maxPayload: number;
  /** The same bus, speaking for somebody else. */
  as(principal: Principal): Bus;
  /** Fails with a ServiceError: UNAVAILABLE at once when nobody serves it, DEADLINE_EXCEEDED, or what the handler threw. */
  call<N extends UnaryName>(name: N, params: Params<N>, options?: CallOptions): Promise<Result<N>>;
  /** Chunks in order, then the result as the return value. Leaving the loop cancels the work. */
  stream<N extends StreamName>(name: N, params: Params<N>, options?: CallOptions): AsyncGenerator<Chunk<N>, Result<N>, void>;
  emit<N extends EventName>(name: N, payload: EventPayload<N>): void;
  /** As `emit`, but resolves once the event log holds it; the same id is kept once. For outboxes. */
  record(event: { id: string; name: string; payload: unknown; tenant: string }): Promise<void>;
  on<N extends EventName>(name: N, onEvent: (event: BusEvent<N>) => void, options?: OnOptions): Subscription;
  serve<C extends Contract>(contract: C, handlers: Handlers<C>, options: ServeOptions): Promise<Served>;

  /** What the edge uses: bytes in, bytes out, no promise, no parsing. Returns a function that cancels; after it nothing is called back. */
  forward(callable: Callable, params: Uint8Array, head: CallHead, onReply: (reply: Reply) => void): () => void;

  /**
   * The same for what streams. Chunks are told as they come, so that whoever hands them on bounds what waits there. Returns what leaves,
   * which cancels the work.
   */
  forwardStream(callable: Callable, params: Uint8Array, head: CallHead, sink: StreamSink): () => void;

  /** Raw, ordered publication on a subject from `contracts`: the frames of turns, notifications. */
  publish(subject: string, data: Uint8Array, options?: PublishOptions): void;
  subscribe(subject: string, onMessage: (message: Message) => void): Subscription;
  log(definition: LogDefinition): Promise<Log>;
  kv(definition: BucketDefinition): Promise<Bucket>;

  /** There is work: heard by one replica of the service. Losing it costs latency only. */
  wake(service: ServiceName): void;
  onWake(service: ServiceName, onWake: () => void): Subscription;

  /**
   * Who is there: every replica of every service that says so within a quarter of a second, at most 1,000. One that died is gone at
   * once, one that is too busy to say so in time is missing. Fails UNAVAILABLE while the other side cannot be reached.
   */
  discover(options?: DiscoverOptions): Promise<Replica[]>;
  flush(): Promise<void>;
  connected(): boolean;
  /**
   * Runs when the other side is back after it was lost, and again until it succeeds. Logs and buckets are there by then, maybe
   * empty: whoever is the source of what they hold writes it anew. Returns what stops it.
   */
  onRestored(restore: () => Promise<void> | void): () => void;
  /** Resolves once the connection is gone for good: drained, or refused by the other side. */
  readonly closed: Promise<void>;
  /** Fails every call and stream that waits here, and tells the other side to stop: for whoever has no time left to wait. */
  abandon(): void;
  /** Finishes what runs, then closes the transport. */
  drain(): Promise<void>;
}
