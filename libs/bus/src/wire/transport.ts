import type { BucketDefinition, LogDefinition } from '@switchyard/contracts';
import type { HeaderLines } from './headers.ts';

/** Maximum message size including headers, even if the server accepts more. */
export const MAX_PAYLOAD = 8 * 1024 * 1024;

/** A received message. Headers are parsed on demand, because most replies have none. */
export interface Message {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply: string | undefined;
  /** 503 on an empty message means that the subject has no subscriber. */
  readonly status: number | undefined;
  header(name: string): string | undefined;
}

/** A message to publish. */
export interface Outgoing {
  subject: string;
  data: Uint8Array;
  reply?: string;
  headers?: HeaderLines;
  /** Expiry by `performance.now()`. A message that could not be sent by then is dropped instead of sent late after a reconnect. */
  expires?: number;
  /** Delivered to current subscribers only; logs do not store it. */
  ephemeral?: boolean;
}

export interface Subscription {
  /** Stops immediately. Nothing is delivered afterwards. */
  unsubscribe(): void;
  /** Stops accepting messages and resolves when all received ones are handled. */
  drain(): Promise<void>;
}

/** Announced for discovery (`$SRV.*`). */
export interface ServiceInfo {
  name: string;
  version: string;
  description: string;
  /** Identifies the replica among those of the service. */
  replica: string;
  metadata?: Record<string, string>;
  /** Additional data of the statistics response. */
  data?: () => unknown;
}

export interface Endpoint {
  /** Matches `[A-Za-z0-9_-]+`. Dots of the method name become dashes. */
  name: string;
  subject: string;
  metadata?: Record<string, string>;
  /** Must not throw; the result is ignored. */
  onMessage: (message: Message) => void;
  /** Call statistics for discovery. */
  stats?: () => EndpointStats;
}

export interface EndpointStats {
  requests: number;
  errors: number;
  lastError: string | undefined;
  processingMs: number;
}

/** A message stored in a log. */
export interface LogEntry {
  seq: number;
  /** When the log stored it, in epoch milliseconds. */
  readonly at: number;
  subject: string;
  data: Uint8Array;
  header(name: string): string | undefined;
}

/** An ordered, replayable log. It stores every message published on its subjects. */
export interface Log {
  /** Capacity in bytes before the oldest messages are removed. A message counts with its subject, headers, data and `messageBytes`. */
  readonly maxBytes: number;
  /** Overhead of a message in the log, in bytes. */
  readonly messageBytes: number;
  /** Publishes a message and resolves once the log has stored it. Appends with the same id are stored once. */
  append(message: Outgoing, id?: string): Promise<{ seq: number; duplicate: boolean }>;
  /**
   * Reads the messages of a subject (wildcards allowed) from a sequence number on, oldest first. A log that is spread over several streams
   * has no common numbering: it is read completely, and it is ordered only within each stream.
   */
  read(subject: string, fromSeq?: number): Promise<LogEntry[]>;
  /** Same as `read`, limited to `limit` entries. */
  page(subject: string, fromSeq: number, limit: number): Promise<LogEntry[]>;
  /** The current position. A log that was lost and recreated has a new name and starts at sequence 1. */
  position(): Promise<LogPosition>;
}

export interface LogPosition {
  /** Letters and digits. */
  name: string;
  /** Sequence number of the oldest message; one above `seq` if the log is empty. */
  firstSeq: number;
  /** Sequence number of the newest message; 0 in a new log. */
  seq: number;
}

/** Throws if a sequence number is used with a log that is spread over several streams. */
export function assertSingleStream({ name, parts }: LogDefinition, fromSeq: number | undefined): void {
  if (parts !== undefined && fromSeq !== undefined)
    throw new TypeError(`${name} is spread over several streams and cannot be read from a sequence number`);
}

export interface BucketEntry {
  key: string;
  /** Undefined after the key was removed. */
  value: Uint8Array | undefined;
  revision: number;
}

export interface WatchOptions {
  /** Watches only the keys below this one: with `gateway` the keys `gateway.…`. The server sends no others. */
  below?: string;
}

export interface Watch {
  /** Since when (epoch ms) the watch may have missed changes. Undefined while it is complete. */
  lostSince(): number | undefined;
  stop(): void;
}

/** Key-value state with revisions that every replica can watch. Keys match `[A-Za-z0-9_.=-]+`. A value is one message. */
export interface Bucket {
  get(key: string): Promise<BucketEntry | undefined>;
  /** Returns the new revision. Revisions only grow, even if the bucket is lost and recreated. */
  put(key: string, value: Uint8Array): Promise<number>;
  /** Writes the value if the key has this revision (0: the key does not exist). Returns undefined otherwise. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | undefined>;
  remove(key: string): Promise<number>;
  keys(): Promise<string[]>;
  /** Calls `onEntry` with all entries, then with every change. Resolves when the initial entries are delivered. */
  watch(onEntry: (entry: BucketEntry) => void, options?: WatchOptions): Promise<Watch>;
}

/** Receives connection events. */
export interface ConnectionListener {
  /** The outage lasts longer than messages are buffered. Pending replies will not arrive. */
  unreachable?(): void;
  /** The connection is back. Opened logs and buckets exist again, but may have lost their content. */
  restored?(): void;
}

/** Transports bytes and headers and knows no contracts. Calls, deadlines and streams are built on top of it. */
export interface Transport {
  /** Maximum message size including headers. */
  readonly maxPayload: number;
  /** Payloads above this size go through the payload store, if one is configured. */
  readonly inlineBytes: number;
  /** Subject prefix that only this connection receives. */
  readonly inbox: string;
  /** Resolves when the connection is closed permanently. */
  readonly closed: Promise<void>;
  /**
   * Queues a message. The queue is written once per event-loop turn. Returns false if the connection is closed or was unreachable for too
   * long.
   */
  publish(message: Outgoing): boolean;
  /** `onMessage` must not throw; the result is ignored. */
  subscribe(subject: string, onMessage: (message: Message) => void, queue?: string): Subscription;
  /** Registers endpoints in one queue group and announces them. They answer calls once it resolves. */
  serve(service: ServiceInfo, endpoints: readonly Endpoint[]): Promise<Subscription>;
  /** Creates the log if it does not exist. It stores the newest `maxPerSubject` messages of each subject. */
  log(definition: LogDefinition): Promise<Log>;
  kv(definition: BucketDefinition): Promise<Bucket>;
  /** Resolves when all published messages have reached the server. */
  flush(): Promise<void>;
  /** Waits for running work, then closes the connection. */
  drain(): Promise<void>;
  /** Whether the server is reachable. */
  connected(): boolean;
  /** Bytes of published messages that wait for a reconnect. */
  bufferedBytes(): number;
  /** The returned function removes the listener. */
  addConnectionListener(listener: ConnectionListener): () => void;
}
