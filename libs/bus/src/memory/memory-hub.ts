import { findHeader, type HeaderLines } from '../wire/headers.ts';
import { EMPTY } from '../wire/encoding.ts';
import type { Message, Outgoing } from '../wire/transport.ts';
import { createMemoryBucket, type MemoryBucket } from './memory-bucket.ts';
import { createMemoryLog, type MemoryLog } from './memory-log.ts';
import { createSubjectIndex, type SubjectIndex } from './subject-index.ts';

export interface Listener {
  open: boolean;
  onMessage(message: Message): void;
}

/** State shared by the connections of one process: subscriptions, logs, buckets and queued messages. */
export interface MemoryHub {
  readonly listeners: SubjectIndex<Listener>;
  readonly logs: Map<string, MemoryLog>;
  readonly buckets: Map<string, MemoryBucket>;
  /** Queues a message for its subscribers. Stores it in the matching logs, except in `kept`, which has stored it already. */
  publish(message: Outgoing, storedIn?: MemoryLog): void;
  /** Runs after all queued deliveries. */
  defer(run: () => void): void;
  nextConnection(): number;
  log(definition: { name: string; subjects: readonly string[]; maxAgeMs: number; maxPerSubject?: number }): MemoryLog;
  bucket(definition: { name: string; ttlMs?: number }): MemoryBucket;
}

/** Messages published in one event-loop turn are delivered in the next one, in order. A publish never delivers synchronously. */
export function createMemoryHub(): MemoryHub {
  const listeners = createSubjectIndex<Listener>();
  const logs = new Map<string, MemoryLog>();
  const buckets = new Map<string, MemoryBucket>();
  let queue: (() => void)[] = [];
  let connections = 0;

  function defer(run: () => void): void {
    if (queue.push(run) === 1) setImmediate(drain);
  }

  function drain(): void {
    const due = queue;
    queue = [];
    for (const run of due) run();
  }

  function send(message: Message): boolean {
    return listeners.route(message.subject, (listener) => {
      defer(() => {
        if (listener.open) listener.onMessage(message);
      });
    });
  }

  function publish(message: Outgoing, storedIn?: MemoryLog): void {
    let delivered = storedIn !== undefined;
    for (const log of logs.values()) {
      if (message.ephemeral === true || !log.matches(message.subject)) continue;
      delivered = true;
      if (log !== storedIn) log.append(message);
    }
    delivered = send(toMessage(message)) || delivered;
    if (!delivered && message.reply !== undefined) send(createNoRespondersMessage(message.reply));
  }

  return {
    listeners,
    logs,
    buckets,
    publish,
    defer,
    nextConnection: () => ++connections,
    log: (definition) => getOrCreate(logs, definition.name, () => createMemoryLog(definition)),
    bucket: (definition) => getOrCreate(buckets, definition.name, () => createMemoryBucket(definition.ttlMs)),
  };
}

function getOrCreate<T>(map: Map<string, T>, key: string, create: () => T): T {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

function toMessage({ subject, data, reply, headers }: Outgoing): Message & { headers: HeaderLines | undefined } {
  return { subject, data, reply, status: undefined, headers, header: readHeader };
}

function readHeader(this: { headers: HeaderLines | undefined }, name: string): string | undefined {
  return findHeader(this.headers, name);
}

function createNoRespondersMessage(subject: string): Message {
  return { subject, data: EMPTY, reply: undefined, status: 503, header: () => undefined };
}
