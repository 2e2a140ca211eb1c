import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { mintId, randomBase62 } from '@switchyard/security';
import type { Logger } from '@switchyard/telemetry';
import type { BusCredentials } from './bus-credentials.ts';
import { createMux } from '../wire/reply-mux.ts';
import { announce, combineSubscriptions } from '../wire/service-announcement.ts';
import type { ConnectionListener, Transport } from '../wire/transport.ts';
import { ensureBucket, openBucket } from './nats-bucket.ts';
import { dial, dialOptions } from './nats-dialer.ts';
import { mapNatsErrors } from './nats-errors.ts';
import { formatInbox } from './nats-inbox.ts';
import { createBusConnection, type BusConnection } from './nats-connection.ts';
import { openLog } from './nats-log.ts';
import { ensureStreams } from './nats-streams.ts';

/**
 * Length of the random connection id. Random, so that a restarted replica gets no replies of its earlier run. Short, because it is part of
 * every reply subject.
 */
const CONNECTION_DIGITS = 8;
const PING_MS = 10_000;
const RECONNECT_MS = 250;

export interface NatsOptions {
  log: Logger;
  service?: string;
  replica?: string;
  /** Used if the URL has no credentials. */
  credentials?: BusCredentials;
  /** How long messages are buffered during an outage. Default: 5 seconds. */
  bufferTimeoutMs?: number;
}

/** Waits for the first connection and reconnects forever. Throws UNAUTHENTICATED if the server rejects the credentials. */
export async function connectNats(url: string, options: NatsOptions): Promise<Transport> {
  const { log, service = 'bus', replica = mintId('rep'), credentials, bufferTimeoutMs } = options;
  const inbox = formatInbox(service);
  const connection = await dial(
    {
      ...dialOptions(url, credentials),
      name: `${service}.${replica}`,
      inboxPrefix: inbox,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      reconnectJitter: RECONNECT_MS,
      reconnectJitterTLS: RECONNECT_MS,
      pingInterval: PING_MS,
      noAsyncTraces: true,
    },
    log,
  );
  const link = createBusConnection(connection, {
    inbox: `${inbox}.${randomBase62(CONNECTION_DIGITS)}`,
    log,
    ...(bufferTimeoutMs === undefined ? {} : { bufferTimeoutMs }),
  });
  return createTransport(link, await jetstreamManager(connection, { checkAPI: false }));
}

/**
 * Larger payloads go through the payload store. A message of this size delays the others of its connection by some milliseconds at most.
 */
const MAX_INLINE_BYTES = 1_048_576;
/** Room for the headers of a message, which count against `max_payload`. */
const HEADER_BYTES = 65_536;

function createTransport(link: BusConnection, manager: JetStreamManager): Transport {
  const acks = createMux(link, 'a');
  const connectionParts = { link, manager, acks };
  const resources = new Map<string, () => Promise<unknown>>();
  const listeners = new Set<ConnectionListener>();
  let reconnects = 0;
  link.follow({
    closed() {
      reconnects++;
      acks.shutDown();
    },
    reconnected: () => void restore(++reconnects),
    unreachable: () => listeners.forEach((listener) => listener.unreachable?.()),
  });

  /** Creates streams and buckets again, because the server may have lost its store. JetStream starts later than the server itself. */
  async function restore(reconnect: number, isRetry = false): Promise<void> {
    try {
      await Promise.all([...resources.values()].map((ensure) => ensure()));
    } catch (err) {
      if (reconnect !== reconnects) return;
      const reason = err instanceof Error ? err.message : String(err);
      link.throttle.log('restore', () => link.log.warn({ reason }, 'failed to recreate streams and buckets after a reconnect; retrying'));
      setTimeout(() => void restore(reconnect, true), RECONNECT_MS).unref();
      return;
    }
    if (reconnect !== reconnects) return;
    if (isRetry) link.log.info('streams and buckets exist again');
    listeners.forEach((listener) => listener.restored?.());
  }

  /** Creates a stream or bucket now and after every reconnect. */
  async function ensureResource(name: string, ensure: () => Promise<unknown>): Promise<void> {
    await ensure();
    resources.set(name, ensure);
  }

  return {
    ...link,
    inlineBytes: Math.min(MAX_INLINE_BYTES, link.maxPayload - HEADER_BYTES),
    async serve(info, endpoints) {
      const serving = endpoints.map((endpoint) => link.subscribeEndpoint(endpoint, info.name));
      const subscription = combineSubscriptions([...serving, ...announce(link, info, endpoints)]);
      // While disconnected, the client subscribes with the next connection.
      await link.flush().catch((err: unknown) => link.log.warn({ err, service: info.name }, 'the service is not registered with NATS yet'));
      return subscription;
    },
    async log(definition) {
      await mapNatsErrors(() => ensureResource(definition.name, () => ensureStreams(manager, definition)));
      return openLog(connectionParts, definition);
    },
    async kv(definition) {
      await mapNatsErrors(() => ensureResource(`KV_${definition.name}`, () => ensureBucket(manager, definition)));
      return openBucket(connectionParts, definition);
    },
    async drain() {
      acks.shutDown();
      await link.drain();
    },
    addConnectionListener(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
