import { checkMessage } from '../wire/validation.ts';
import { busClosedError } from '../wire/errors.ts';
import { announce, combineSubscriptions } from '../wire/service-announcement.ts';
import {
  MAX_PAYLOAD,
  assertSingleStream,
  type Bucket,
  type Log,
  type Outgoing,
  type Subscription,
  type Transport,
  type WatchOptions,
} from '../wire/transport.ts';
import type { Listener, MemoryHub } from './memory-hub.ts';
import { MAX_BYTES, MESSAGE_BYTES } from './memory-log.ts';

/** One connection to a hub. */
interface Connection {
  readonly hub: MemoryHub;
  readonly subscriptions: Set<Subscription>;
  open: boolean;
}

/** Connects to the other connections of the same hub in this process. */
export function connectMemory(hub: MemoryHub): Transport {
  const connection: Connection = { hub, subscriptions: new Set(), open: true };
  const closed = Promise.withResolvers<void>();
  const subscribe: Transport['subscribe'] = (subject, onMessage, queue) => listen(connection, { subject, onMessage, queue });
  const publish: Transport['publish'] = (message) => {
    if (!connection.open) return false;
    checkMessage(message, MAX_PAYLOAD);
    hub.publish(message);
    return true;
  };
  return {
    maxPayload: MAX_PAYLOAD,
    inlineBytes: MAX_PAYLOAD, // no network: bytes are passed by reference
    inbox: `_INBOX.${hub.nextConnection()}`,
    closed: closed.promise,
    publish,
    subscribe,
    async serve(info, endpoints) {
      const serving = endpoints.map(({ subject, onMessage }) => subscribe(subject, onMessage, info.name));
      return combineSubscriptions([...serving, ...announce({ publish, subscribe }, info, endpoints)]);
    },
    log: async (definition) => openLog(connection, definition),
    kv: async (definition) => openBucket(connection, definition),
    flush: () => new Promise((resolve) => hub.defer(resolve)),
    async drain() {
      await Promise.all([...connection.subscriptions].map((subscription) => subscription.drain()));
      connection.open = false;
      closed.resolve();
    },
    connected: () => connection.open,
    bufferedBytes: () => 0,
    // Connections within one process cannot be lost.
    addConnectionListener: () => () => undefined,
  };
}

interface Listening {
  subject: string;
  onMessage: Listener['onMessage'];
  queue: string | undefined;
}

function listen({ hub, subscriptions, open }: Connection, { subject, onMessage, queue }: Listening): Subscription {
  if (!open) throw busClosedError();
  const listener: Listener = { open: true, onMessage };
  hub.listeners.add(subject, listener, queue);
  const subscription: Subscription = {
    unsubscribe() {
      listener.open = false;
      subscriptions.delete(subscription);
      hub.listeners.remove(subject, listener, queue);
    },
    drain() {
      hub.listeners.remove(subject, listener, queue);
      return new Promise((resolve) => {
        hub.defer(() => {
          subscription.unsubscribe();
          resolve();
        });
      });
    },
  };
  subscriptions.add(subscription);
  return subscription;
}

function openLog({ hub, open }: Connection, definition: Parameters<Transport['log']>[0]): Log {
  if (!open) throw busClosedError();
  const log = hub.log(definition);
  return {
    maxBytes: MAX_BYTES,
    messageBytes: MESSAGE_BYTES,
    async append(message: Outgoing, id) {
      checkMessage(message, MAX_PAYLOAD);
      if (!log.matches(message.subject)) throw new TypeError(`${definition.name} does not keep ${message.subject}`);
      const position = log.append(message, id);
      hub.publish(message, log);
      return position;
    },
    async read(subject, fromSeq) {
      assertSingleStream(definition, fromSeq);
      return log.read(subject, fromSeq);
    },
    page: async (subject, fromSeq, max) => log.read(subject, fromSeq, max),
    position: async () => log.position(),
  };
}

function openBucket(connection: Connection, definition: Parameters<Transport['kv']>[0]): Bucket {
  if (!connection.open) throw busClosedError();
  const bucket = connection.hub.bucket(definition);
  return {
    get: async (key) => bucket.get(key),
    put: async (key, value) => bucket.put(key, value),
    update: async (key, value, revision) => bucket.update(key, value, revision),
    remove: async (key) => bucket.remove(key),
    keys: async () => bucket.entries().map(({ key }) => key),
    watch: (onEntry, options) => watch(connection, bucket, onEntry, options),
  };
}

type MemoryBucket = ReturnType<MemoryHub['bucket']>;

/** Delivers entries like messages: in order, in the next event-loop turn. */
function watch(
  { hub, subscriptions }: Connection,
  bucket: MemoryBucket,
  onEntry: Parameters<Bucket['watch']>[0],
  { below }: WatchOptions = {},
): ReturnType<Bucket['watch']> {
  let stoppedAt: number | undefined;
  const deliver: typeof onEntry = (entry) => {
    if (below !== undefined && !entry.key.startsWith(`${below}.`)) return;
    hub.defer(() => {
      if (stoppedAt === undefined) onEntry(entry);
    });
  };
  const leave = bucket.watch(deliver);
  const subscription: Subscription = {
    unsubscribe() {
      stoppedAt ??= Date.now();
      subscriptions.delete(subscription);
      leave();
    },
    drain: async () => subscription.unsubscribe(),
  };
  subscriptions.add(subscription);
  bucket.entries().forEach(deliver);
  return new Promise((resolve) => {
    hub.defer(() => resolve({ lostSince: () => stoppedAt, stop: () => subscription.unsubscribe() }));
  });
}
