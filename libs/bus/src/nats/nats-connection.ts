import { errors, type NatsConnection, type Status } from '@nats-io/nats-core';
import type { NatsConnectionImpl } from '@nats-io/nats-core/internal';
import type { Logger } from '@switchyard/telemetry';
import { busClosedError, busUnreachableError } from '../wire/errors.ts';
import { formatHeaders, addHeaders } from '../wire/headers.ts';
import { MAX_PAYLOAD, type Endpoint, type Message, type Outgoing, type Subscription } from '../wire/transport.ts';
import { readMessage } from './nats-message.ts';
import { createOutbound, BUFFER_TIMEOUT_MS } from './nats-outbound.ts';
import { createLogThrottle, type LogThrottle } from './log-throttle.ts';

/** Receives connection events. */
export interface BusConnectionListener {
  reconnected?(): void;
  /** The outage lasts longer than messages are buffered. */
  unreachable?(): void;
  closed?(): void;
}

/** The NATS connection as the parts of this adapter use it. */
export interface BusConnection {
  readonly inbox: string;
  readonly log: Logger;
  /** Throttles log lines of repeated failures within one connection. */
  readonly throttle: LogThrottle;
  readonly maxPayload: number;
  /** How long messages are buffered during an outage. */
  readonly bufferTimeoutMs: number;
  readonly closed: Promise<void>;
  publish(message: Outgoing): boolean;
  subscribe(subject: string, onMessage: (message: Message) => void, queue?: string): Subscription;
  /** Same as `subscribe`, for an endpoint with a fixed subject. */
  subscribeEndpoint(endpoint: Endpoint, queue: string): Subscription;
  connected(): boolean;
  bufferedBytes(): number;
  flush(): Promise<void>;
  drain(): Promise<void>;
  /** The returned function removes the listener. */
  follow(listener: BusConnectionListener): () => void;
}

export interface BusConnectionOptions {
  inbox: string;
  log: Logger;
  bufferTimeoutMs?: number;
}

export function createBusConnection(
  connection: NatsConnection,
  { inbox, log, bufferTimeoutMs = BUFFER_TIMEOUT_MS }: BusConnectionOptions,
): BusConnection {
  // The client's own publish and message view cost more than the rest of a call; see nats-outbound.ts and nats-message.ts.
  const client = connection as NatsConnectionImpl;
  const { protocol } = client;
  const maxPayload = negotiateMaxPayload(connection, log);
  const outbound = createOutbound(client, maxPayload, bufferTimeoutMs);
  const listeners = new Set<BusConnectionListener>();
  const notify = (change: keyof BusConnectionListener) => listeners.forEach((listener) => listener[change]?.());
  const throttle = createLogThrottle();
  const isOpen = () => !connection.isClosed() && !connection.isDraining();

  let outage: NodeJS.Timeout | undefined;

  function giveUp(): void {
    outbound.rejectMessages();
    notify('unreachable');
  }

  void watchStatus(connection, (status) => {
    logStatus(status, { log, throttle });
    if (status.type === 'disconnect') outage ??= setTimeout(giveUp, bufferTimeoutMs).unref();
    if (status.type !== 'reconnect') return;
    clearTimeout(outage);
    outage = undefined;
    outbound.flush();
    notify('reconnected');
  });

  return {
    inbox,
    log,
    throttle,
    maxPayload,
    bufferTimeoutMs: bufferTimeoutMs,
    closed: connection.closed().then((err) => {
      if (err !== undefined) log.error({ err }, 'the connection to NATS is closed permanently');
      clearTimeout(outage);
      notify('closed');
    }),
    publish: (message) => isOpen() && outbound.publish(message.ephemeral === true ? addNoStreamHeader(message) : message),
    subscribe: (subject, onMessage, queue) =>
      subscribe(connection, log, {
        subject,
        onMessage: subject.startsWith(`${inbox}.`) ? onMessage : dropStoredMessages(onMessage),
        queue,
      }),
    subscribeEndpoint: ({ subject, onMessage }, queue) =>
      subscribe(connection, log, { subject, onMessage: dropStoredMessages(onMessage), queue, exact: subject }),
    connected: () => protocol.connected && !connection.isClosed(),
    bufferedBytes: () => outbound.bufferedBytes(),
    async flush() {
      outbound.flush();
      if (connection.isClosed()) throw busClosedError();
      await connection.flush().catch((error: unknown) => {
        throw busUnreachableError(error);
      });
    },
    async drain() {
      outbound.flush();
      // Draining needs a server and would hang without one.
      if (isOpen()) await connection.drain().catch(() => connection.close());
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** No stream has this name, so JetStream does not store the message. Subscribers receive it. */
const NO_STREAM = formatHeaders(['Nats-Expected-Stream', '-']);

function addNoStreamHeader(message: Outgoing): Outgoing {
  return { ...message, headers: addHeaders(message.headers, NO_STREAM) };
}

function negotiateMaxPayload({ info }: NatsConnection, log: Logger): number {
  const offered = info?.max_payload ?? MAX_PAYLOAD;
  if (offered < MAX_PAYLOAD) log.warn({ offered, wanted: MAX_PAYLOAD }, 'max_payload of the NATS server is too small; set it to 8MB');
  return Math.min(MAX_PAYLOAD, offered);
}

/**
 * Drops messages that JetStream delivers, except in the inbox of this connection. The server does not check permissions when it delivers a
 * stored message to the subject that a consumer names, so a compromised service could publish through JetStream on subjects of other
 * services.
 */
function dropStoredMessages(onMessage: (message: Message) => void): (message: Message) => void {
  return (message) => {
    if (!isStoredMessage(message)) onMessage(message);
  };
}

/** A consumer delivery has an acknowledgement subject as its reply. A direct get response names its stream. */
function isStoredMessage(message: Message): boolean {
  return message.reply?.startsWith('$') === true || message.header('Nats-Stream') !== undefined;
}

interface SubscribeOptions {
  subject: string;
  onMessage: (message: Message) => void;
  queue: string | undefined;
  /** Set if all messages have this subject, so that it need not be decoded. */
  exact?: string;
}

function subscribe(connection: NatsConnection, log: Logger, { subject, onMessage, queue, exact }: SubscribeOptions): Subscription {
  if (connection.isClosed() || connection.isDraining()) throw busClosedError();
  let open = true;
  const subscription = connection.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback(err, message) {
      if (err !== null) log.error({ err, subject }, 'NATS rejected a subscription');
      else if (open) onMessage(readMessage(message, exact));
    },
  });
  return {
    unsubscribe() {
      open = false;
      subscription.unsubscribe();
    },
    async drain() {
      if (!subscription.isClosed() && !connection.isClosed()) await subscription.drain();
    },
  };
}

/** Ends when the connection is closed. */
async function watchStatus(connection: NatsConnection, onStatus: (status: Status) => void): Promise<void> {
  for await (const status of connection.status()) onStatus(status);
}

function logStatus(status: Status, { log, throttle }: Pick<BusConnection, 'log' | 'throttle'>): void {
  switch (status.type) {
    case 'disconnect':
      throttle.reset();
      return log.warn({ server: status.server }, 'lost the connection to NATS');
    case 'reconnect':
      return log.info({ server: status.server }, 'reconnected to NATS');
    case 'error':
      return logError(status.error, { log, throttle });
    case 'ldm':
      return log.warn({ server: status.server }, 'the NATS server is shutting down');
    default:
  }
}

/** A service without permission to create a stream reports the provisioning job itself. */
const STREAM_CREATE_SUBJECT = /^\$JS\.API\.STREAM\.CREATE\./;

function logError(err: Error, { log, throttle }: Pick<BusConnection, 'log' | 'throttle'>): void {
  if (!(err instanceof errors.PermissionViolationError)) return log.error({ err }, 'NATS reported an error');
  const { operation, subject } = err;
  if (STREAM_CREATE_SUBJECT.test(subject)) return;
  throttle.log(`${operation} ${subject}`, () => log.error({ operation, subject }, 'NATS denied a permission'));
}
