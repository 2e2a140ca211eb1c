import { AckPolicy, DeliverPolicy, ReplayPolicy, type ConsumerConfig, type JetStreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { mintId } from '@switchyard/security';
import { EMPTY } from '../wire/encoding.ts';
import { busClosedError } from '../wire/errors.ts';
import type { BucketEntry, Message, Subscription, Watch, WatchOptions } from '../wire/transport.ts';
import { isDeletion, keySubject } from './nats-bucket-entry.ts';
import type { BusConnection } from './nats-connection.ts';

const HEARTBEAT_INTERVAL_MS = 1_000;
/** Two missed heartbeats, with some slack. */
const SILENCE_TIMEOUT_MS = 2_500;
const RETRY_INTERVAL_MS = 250;
/** The server deletes a consumer without subscribers after this time. A disconnected watch creates a new one. */
const INACTIVE_TIMEOUT_MS = 1_000;
const CONTROL_STATUS = 100;

export interface WatchSource {
  link: BusConnection;
  manager: JetStreamManager;
}

/** An ordered consumer of a bucket's stream. It is recreated when a message is missing or deliveries stop. */
interface Consumer {
  readonly source: WatchSource;
  readonly bucket: string;
  /** Pattern of the watched keys. */
  readonly keysFilter: string;
  readonly onEntry: (entry: BucketEntry) => void;
  /** Resolves when all initial entries are delivered. */
  readonly loaded: PromiseWithResolvers<void>;
  /** Name of the server-side consumer. Each recreation has a new one. */
  name: string;
  subscription: Subscription | undefined;
  /** Sequence numbers of the last delivered message: `delivered` of this consumer, `lastSeq` of the stream. */
  delivered: number;
  lastSeq: number;
  /** Creation time of the stream. A recreated stream starts its sequence again. */
  stream: string | undefined;
  /** The existing keys. */
  readonly keys: Set<string>;
  /** Keys of a lost stream that its successor has not delivered yet. */
  readonly staleKeys: Set<string>;
  /** `expected`: messages to deliver when the consumer was created. `pending`: messages after the last delivered one. */
  expected: number;
  pending: number;
  heardAt: number;
  complete: boolean;
  creating: boolean;
  stopped: boolean;
}

/**
 * Watches a bucket. The client's own watch has a heartbeat of 30 seconds; a watch that guards access must notice within a few seconds that
 * nothing arrives.
 */
export async function openWatch(
  source: WatchSource,
  bucket: string,
  onEntry: (entry: BucketEntry) => void,
  { below }: WatchOptions = {},
): Promise<Watch> {
  const { link } = source;
  const consumer: Consumer = {
    source,
    bucket,
    keysFilter: below === undefined ? '>' : `${below}.>`,
    onEntry,
    loaded: Promise.withResolvers(),
    name: '',
    subscription: undefined,
    delivered: 0,
    lastSeq: 0,
    stream: undefined,
    keys: new Set(),
    staleKeys: new Set(),
    expected: Infinity,
    pending: Infinity,
    heardAt: Date.now(),
    complete: false,
    creating: false,
    stopped: false,
  };
  const watchdog = setInterval(() => {
    if (link.connected() && isSilent(consumer)) recreate(consumer);
  }, HEARTBEAT_INTERVAL_MS).unref();
  const unfollow = link.follow({ reconnected: () => recreate(consumer), closed: stop });

  function stop(): void {
    consumer.stopped = true;
    clearInterval(watchdog);
    unfollow();
    consumer.subscription?.unsubscribe();
    consumer.loaded.reject(busClosedError());
  }

  recreate(consumer);
  await consumer.loaded.promise;
  return {
    lostSince: () => (consumer.complete && !consumer.stopped && link.connected() && !isSilent(consumer) ? undefined : consumer.heardAt),
    stop,
  };
}

function isSilent({ heardAt }: Consumer): boolean {
  return Date.now() - heardAt > SILENCE_TIMEOUT_MS;
}

function recreate(consumer: Consumer): void {
  consumer.complete = false;
  if (consumer.creating || consumer.stopped) return;
  consumer.creating = true;
  create(consumer).then(
    () => (consumer.creating = false),
    (err: unknown) => {
      const { source, bucket } = consumer;
      if (consumer.stopped) return;
      const reason = err instanceof Error ? err.message : String(err);
      const { log, throttle } = source.link;
      throttle.log(`watch ${bucket}: ${reason}`, () => log.warn({ bucket, reason }, 'failed to recreate a bucket watch; retrying'));
      setTimeout(() => {
        consumer.creating = false;
        recreate(consumer);
      }, RETRY_INTERVAL_MS).unref();
    },
  );
}

async function create(consumer: Consumer): Promise<void> {
  const { source, bucket } = consumer;
  const stream = `KV_${bucket}`;
  consumer.subscription?.unsubscribe();
  consumer.name = mintId('w');
  consumer.delivered = 0;
  await detectStreamLoss(consumer, stream);
  if (consumer.stopped) return;
  const config = buildConsumerConfig(consumer);
  consumer.subscription = source.link.subscribe(String(config.deliver_subject), (message) => onMessage(consumer, message));
  const info = await source.manager.consumers.add(stream, config);
  markComplete(consumer);
  consumer.expected = info.num_pending + info.delivered.consumer_seq;
  if (consumer.delivered === 0) consumer.pending = info.num_pending;
  checkLoaded(consumer);
}

/** A server that lost its store starts its sequence again. The watch then reads everything again. */
async function detectStreamLoss(consumer: Consumer, stream: string): Promise<void> {
  const { created, state } = await consumer.source.manager.streams.info(stream);
  const same = consumer.stream === undefined || consumer.stream === created;
  consumer.stream = created;
  if (same && state.last_seq >= consumer.lastSeq) return;
  consumer.lastSeq = 0;
  for (const key of consumer.keys) consumer.staleKeys.add(key);
  setTimeout(expireStaleKeys, consumer.source.link.bufferTimeoutMs, consumer).unref();
}

/**
 * Reports stale keys that were not written again in time as removed. Otherwise a removal that was lost with the old store would be missed.
 */
function expireStaleKeys(consumer: Consumer): void {
  if (consumer.stopped) return;
  for (const key of consumer.staleKeys) {
    consumer.keys.delete(key);
    consumer.onEntry({ key, value: undefined, revision: consumer.lastSeq });
  }
  consumer.staleKeys.clear();
}

function buildConsumerConfig({ source, bucket, keysFilter, name, lastSeq }: Consumer): Partial<ConsumerConfig> {
  return {
    name,
    deliver_subject: `${source.link.inbox}.w.${name}`,
    filter_subject: keySubject(bucket, keysFilter),
    ack_policy: AckPolicy.None,
    replay_policy: ReplayPolicy.Instant,
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    flow_control: true,
    idle_heartbeat: nanos(HEARTBEAT_INTERVAL_MS),
    inactive_threshold: nanos(INACTIVE_TIMEOUT_MS),
    ...(lastSeq === 0
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: lastSeq + 1 }),
  };
}

function onMessage(consumer: Consumer, message: Message): void {
  if (consumer.stopped) return;
  if (message.status !== undefined) return onControl(consumer, message);
  const position = readPosition(message.reply);
  if (position?.consumer !== consumer.name) return;
  if (position.consumerSeq !== consumer.delivered + 1) return recreate(consumer);
  consumer.delivered = position.consumerSeq;
  consumer.lastSeq = position.streamSeq;
  consumer.pending = position.pending;
  markComplete(consumer);
  onEntryMessage(consumer, message, position.streamSeq);
  checkLoaded(consumer);
}

function onEntryMessage(consumer: Consumer, message: Message, revision: number): void {
  const key = message.subject.slice(keySubject(consumer.bucket, '').length);
  const value = isDeletion((name) => message.header(name)) ? undefined : new Uint8Array(message.data);
  consumer.staleKeys.delete(key);
  if (value === undefined) consumer.keys.delete(key);
  else consumer.keys.add(key);
  consumer.onEntry({ key, value, revision });
}

/** Heartbeats contain the server's position. Flow control requires a reply. */
function onControl(consumer: Consumer, message: Message): void {
  if (message.status !== CONTROL_STATUS) return recreate(consumer);
  const answerTo = message.reply ?? message.header('Nats-Consumer-Stalled');
  if (answerTo !== undefined) consumer.source.link.publish({ subject: answerTo, data: EMPTY });
  const sent = message.header('Nats-Last-Consumer');
  if (sent === undefined) return;
  if (Number(sent) !== consumer.delivered) return recreate(consumer);
  markComplete(consumer);
  // The server sends heartbeats only when idle, or while it waits for a flow control reply.
  if (answerTo === undefined) consumer.loaded.resolve();
}

function markComplete(consumer: Consumer): void {
  consumer.heardAt = Date.now();
  consumer.complete = true;
}

/** A value that is replaced during the start is delivered later, and for a moment the server does not count it as pending. */
function checkLoaded({ loaded, delivered, expected, pending }: Consumer): void {
  if (pending === 0 && delivered >= expected) loaded.resolve();
}

interface Position {
  consumer: string;
  streamSeq: number;
  consumerSeq: number;
  /** Messages after this one. */
  pending: number;
}

/** Parses `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>[.<token>]`. */
function readPosition(reply: string | undefined): Position | undefined {
  const tokens = reply?.split('.') ?? [];
  const at = tokens.length > 9 ? 5 : 3;
  const consumer = tokens[at];
  if (consumer === undefined || tokens.length < 9) return undefined;
  const [streamSeq, consumerSeq, pending] = [tokens[at + 2], tokens[at + 3], tokens[at + 5]].map(Number);
  return { consumer, streamSeq: streamSeq ?? 0, consumerSeq: consumerSeq ?? 0, pending: pending ?? 0 };
}
