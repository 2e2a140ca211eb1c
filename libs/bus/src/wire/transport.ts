import type { BucketDefinition, LogDefinition } from '@switchyard/contracts';
import type { HeaderLines } from './headers.ts';

/** No message is larger, headers included, whatever the other side would take. */
export const MAX_PAYLOAD = 8 * 1024 * 1024;

/** What arrives. Headers are read on demand: most replies carry none. */
export interface Message {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly reply: string | undefined;
  /** 503 on an empty message says that nobody serves the subject. */
  readonly status: number | undefined;
  header(name: string): string | undefined;
}

/** What is sent. */
export interface Outgoing {
  subject: string;
  data: Uint8Array;
  reply?: string;
  headers?: HeaderLines;
  /** By `performance.now()`. A message that could not be sent by then is dropped, not sent late after a reconnect. */
  expires?: number;
  /** Heard by those who listen now, and kept by no log. */
  ephemeral?: boolean;
}

export interface Subscription {
  /** Stops at once; nothing is delivered after it returns. */
  unsubscribe(): void;
  /** Stops taking new messages, and resolves when those already received were handled. */
  drain(): Promise<void>;
}

/** What a service announces for discovery (`$SRV.*`). */
export interface ServiceInfo {
  name: string;
  version: string;
  description: string;
  /** Tells this copy of the service from the others. */
  replica: string;
  metadata?: Record<string, string>;
  /** What it says of itself besides when it is asked for its numbers. */
  data?: () => unknown;
}

export interface Endpoint {
  /** Matches `[A-Za-z0-9_-]+`; dots of the method become dashes. */
  name: string;
  subject: string;
  metadata?: Record<string, string>;
  /** Never throws and returns nothing. */
  onMessage: (message: Message) => void;
  /** What was answered so far, for discovery. */
  stats?: () => EndpointStats;
}

export interface EndpointStats {
  requests: number;
  errors: number;
  lastError: string | undefined;
  processingMs: number;
}

/** A message kept in a log. */
export interface LogEntry {
  seq: number;
  /** When the log took it, epoch milliseconds. */
  readonly at: number;
  subject: string;
  data: Uint8Array;
  header(name: string): string | undefined;
}

/** An ordered, replayable record. Every message published on its subjects is kept, in order. */
export interface Log {
  /** How many bytes it holds at the least before the oldest go: of each message its subject, its headers, its data and `messageBytes`. */
  readonly maxBytes: number;
  /** What a message takes of them besides what it says. */
  readonly messageBytes: number;
  /** Publishes, and resolves once the log holds it. Two appends with the same id are one. */
  append(message: Outgoing, id?: string): Promise<{ seq: number; duplicate: boolean }>;
  /**
   * What the log still holds of a subject (wildcards allowed), oldest first, from a sequence number on. A log that may be in several
   * streams has no numbers of its own: it is read whole, and what it holds is in order only within what one stream kept.
   */
  read(subject: string, fromSeq?: number): Promise<LogEntry[]>;
  /** The same, no more than `most` of it: for what may be long. */
  page(subject: string, fromSeq: number, limit: number): Promise<LogEntry[]>;
  /** How far it is. A log that was lost and made anew has another name, and counts from the beginning. */
  position(): Promise<LogPosition>;
}

export interface LogPosition {
  /** Letters and digits. */
  name: string;
  /** The number of the newest message; 0 where there never was one. */
  seq: number;
}

/** Throws for a place to read from in a log that has none. */
export function assertSingleStream({ name, parts }: LogDefinition, fromSeq: number | undefined): void {
  if (parts !== undefined && fromSeq !== undefined) throw new TypeError(`${name} may be in several streams: it has no number to read from`);
}

export interface BucketEntry {
  key: string;
  /** Undefined once the key is gone. */
  value: Uint8Array | undefined;
  revision: number;
}

export interface Watch {
  /** Since when (epoch ms) the watch may have missed changes; undefined while it is complete. */
  lostSince(): number | undefined;
  stop(): void;
}

/** Control state with revisions, watched by every replica. Keys match `[A-Za-z0-9_.=-]+`. A value is one message. */
export interface Bucket {
  get(key: string): Promise<BucketEntry | undefined>;
  /** Returns the new revision. Revisions of a bucket only grow, also where what was in it is lost and it is made anew. */
  put(key: string, value: Uint8Array): Promise<number>;
  /** Writes only over `revision` (0: only if absent); undefined when somebody else was first. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | undefined>;
  remove(key: string): Promise<number>;
  keys(): Promise<string[]>;
  /** Calls back with everything there is, then with every change; resolves when the first part is done. */
  watch(onEntry: (entry: BucketEntry) => void): Promise<Watch>;
}

/** Events of the connection itself. */
export interface ConnectionListener {
  /** The outage has lasted longer than messages are held: answers that are awaited will not come. */
  unreachable?(): void;
  /** The connection is back. Logs and buckets opened here exist again, but what was in them may be lost. */
  restored?(): void;
}

/** Moves bytes and headers, and knows nothing of contracts. Calls, deadlines and streams are built once, above it. */
export interface Transport {
  /** How large a message may be, headers included. */
  readonly maxPayload: number;
  /** What is larger is put beside the bus, where there is a place for it. */
  readonly inlineBytes: number;
  /** Subjects that begin with it and a dot reach this connection alone. */
  readonly inbox: string;
  /** Resolves once the connection is gone for good. */
  readonly closed: Promise<void>;
  /** Queued; written once per turn of the event loop. False when it is refused: closed, or unreachable for too long. */
  publish(message: Outgoing): boolean;
  /** `onMessage` never throws and returns nothing. */
  subscribe(subject: string, onMessage: (message: Message) => void, queue?: string): Subscription;
  /** Registers endpoints under one queue group and announces them; once it resolves, they answer. */
  serve(service: ServiceInfo, endpoints: readonly Endpoint[]): Promise<Subscription>;
  /** Creates the log if it is not there. Of a subject it keeps the newest `maxPerSubject` messages. */
  log(definition: LogDefinition): Promise<Log>;
  kv(definition: BucketDefinition): Promise<Bucket>;
  /** Resolves when everything published so far has reached the other side. */
  flush(): Promise<void>;
  /** Finishes what runs, then closes. */
  drain(): Promise<void>;
  /** Whether the other side can be reached now. */
  connected(): boolean;
  /** How much of what was published waits until the other side can be reached again. */
  bufferedBytes(): number;
  /** Returns what stops listening. */
  addConnectionListener(listener: ConnectionListener): () => void;
}
