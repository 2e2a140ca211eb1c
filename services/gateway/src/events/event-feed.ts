import { isProgress, readEvent, type Bus, type Log, type LogEntry, type Message } from '@switchyard/bus';
import { EVENTS_LOG, subjects } from '@switchyard/contracts';
import { awaitPosition, checkLog, type KnownPosition } from './check-log.ts';
import { createReplayQueue } from './replay-queue.ts';
import type { Logger } from '@switchyard/telemetry';

/** Events per read. */
const PAGE_SIZE = 100;
/** How long the log is polled for a new event, which the gateway receives before the log contains it. */
const LOG_DELAY_MS = 500;
const POLL_INTERVAL_MS = 20;
/** Interval of checks for missed events. */
const CHECK_INTERVAL_MS = 5_000;

/** An event, ready to be sent. */
export interface FeedEvent {
  seq: number;
  tenant: string;
  /** The rendered event without its id line. */
  text: string;
}

export interface FeedListener {
  /** Receives the next events of all tenants, in order and without gaps. */
  events(events: readonly FeedEvent[]): void;
  /** Receives an event that the log does not keep. */
  progress(event: Omit<FeedEvent, 'seq'>): void;
  /** Called when the log was replaced. Events in between are lost. */
  lost(): void;
}

/** Reads the event log once for all clients of this gateway, while there are any. */
export interface EventFeed {
  /** Delivers events from now on, until `leave` is called. */
  join(listener: FeedListener): Promise<{ leave: () => void }>;
  /** Position in the log up to which events were read here. */
  readonly position: FeedPosition;
  /** Whether the log contains an event at `seq`, which may be ahead of `position`. Waits some seconds for a log that is catching up. */
  reaches(seq: number): Promise<boolean>;
  /** Reads events of a tenant from a sequence number on. */
  page(tenant: string, fromSeq: number): Promise<FeedPage>;
}

type FeedPosition = Pick<KnownPosition, 'name' | 'seq'>;

/** Some events of a tenant. */
export interface FeedPage {
  events: readonly FeedEvent[];
  /** The oldest sequence number in the log when the events had been read. Older events are lost, whether they were the tenant's or not. */
  firstSeq: number;
  /** The tenant has no other events up to this sequence number. */
  lastSeq: number;
}

const NO_POSITION: KnownPosition = { name: '', seq: 0 };

export function createEventFeed({ bus, log }: { bus: Bus; log: Logger }): EventFeed {
  const listeners = new Set<FeedListener>();
  let position = NO_POSITION;
  let events: Log | undefined;
  let opening: Promise<void> | undefined;
  let close: (() => void) | undefined;
  let polling: Promise<void> | undefined;
  let checking: Promise<void> | undefined;
  /** Progress that arrived after events which are still read from the log. */
  const pendingProgress: Message[] = [];
  let lastEventAt = Number.NEGATIVE_INFINITY;

  async function open(): Promise<void> {
    const opened = await bus.log(EVENTS_LOG);
    const subscription = bus.subscribe(subjects.events, receive);
    try {
      const { name, seq } = await opened.position();
      position = { name, seq };
    } catch (error) {
      subscription.unsubscribe();
      throw error;
    }
    events = opened;
    const unsubscribeRestored = bus.onRestored(check);
    const checks = setInterval(() => void check().catch(logReadFailure), CHECK_INTERVAL_MS).unref();
    close = () => {
      subscription.unsubscribe();
      unsubscribeRestored();
      clearInterval(checks);
    };
    startPolling(); // Events may have arrived before the subscription.
  }

  function receive(message: Message): void {
    if (!isProgress(message)) return startPolling();
    pendingProgress.push(message);
    if (!polling) deliverProgress();
  }

  function deliverProgress(): void {
    for (const message of pendingProgress.splice(0)) {
      const { subject, data } = message;
      const event = render({ seq: 0, subject, data, header: (name) => message.header(name) });
      for (const listener of listeners) listener.progress(event);
    }
  }

  /** Polls the log, which contains the new event now or in a moment. */
  function startPolling(): void {
    lastEventAt = performance.now();
    polling ??= poll()
      .catch(logReadFailure)
      .finally(() => {
        polling = undefined;
        deliverProgress();
      });
  }

  async function poll(): Promise<void> {
    while (close && performance.now() - lastEventAt < LOG_DELAY_MS) {
      const entries = await read(position.seq + 1);
      deliverProgress();
      if (entries.length === 0) await new Promise((resolve) => void setTimeout(resolve, POLL_INTERVAL_MS).unref());
    }
  }

  /** Reads new entries and delivers them to all readers. */
  async function read(fromSeq: number): Promise<LogEntry[]> {
    const { name } = position;
    const entries = (await events?.page(subjects.events, fromSeq, PAGE_SIZE)) ?? [];
    const last = entries.at(-1);
    // The log may have been replaced during the read.
    if (last === undefined || position.name !== name) return [];
    position = { name, seq: last.seq, at: last.at };
    const fresh = entries.map(render);
    for (const listener of listeners) listener.events(fresh);
    return entries;
  }

  /** Detects missed events and a replaced log, which no message reports. */
  function check(): Promise<void> {
    return (checking ??= checkPosition().finally(() => (checking = undefined)));
  }

  async function checkPosition(): Promise<void> {
    const known = position;
    const current = events && (await checkLog(events, known));
    if (!current || !close || position.name !== known.name) return;
    if (current.isLost) {
      position = { name: current.name, seq: 0 };
      for (const listener of listeners) listener.lost();
    }
    if (current.seq > position.seq) startPolling();
  }

  async function readPage(tenant: string, fromSeq: number): Promise<FeedPage> {
    const { name, seq } = position;
    const nothing = { events: [], firstSeq: fromSeq, lastSeq: fromSeq - 1 };
    if (!events) return nothing;
    const entries = await events.page(subjects.eventsOfTenant(tenant), fromSeq, PAGE_SIZE);
    const current = await events.position();
    if (current.name !== name) {
      await check(); // The log was replaced, and the listeners are told.
      return nothing;
    }
    const last = entries.at(-1)?.seq ?? 0;
    return { events: entries.map(render), firstSeq: current.firstSeq, lastSeq: entries.length < PAGE_SIZE ? Math.max(seq, last) : last };
  }

  const replays = createReplayQueue(readPage);

  function logReadFailure(err: unknown): void {
    log.warn(
      { err, errorKind: 'dependency', hint: 'the log keeps them, and they are read when the bus is available' },
      'failed to read events',
    );
  }

  function leave(listener: FeedListener): void {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    close?.();
    [close, opening] = [undefined, undefined];
  }

  return {
    async join(listener) {
      listeners.add(listener);
      opening ??= open();
      try {
        await opening;
      } catch (error) {
        leave(listener);
        throw error;
      }
      return { leave: () => leave(listener) };
    },
    get position() {
      return position;
    },
    async reaches(seq) {
      if (seq <= position.seq || !events) return seq <= position.seq;
      const { name } = position;
      const current = await awaitPosition(events, { name, seq });
      return current.name === name && current.seq >= seq;
    },
    page: (tenant, fromSeq) => replays.read(tenant, fromSeq),
  };
}

/** Renders an entry. Entries that are no events, or have no tenant, are not delivered. */
function render(entry: Pick<LogEntry, 'seq' | 'subject' | 'data' | 'header'>): FeedEvent {
  const { seq } = entry;
  const event = readEvent(entry);
  if (!event) return { seq, tenant: '', text: '' };
  const { payload, name, tenant } = event;
  const json = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
  return { seq, tenant, text: `event: ${name}\ndata: ${json}\n\n` };
}
