import { readEvent, type Bus, type Log, type LogEntry, type LogPosition } from '@switchyard/bus';
import { EVENTS_LOG, subjects } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';

/** How many events are read at once. */
const PAGE = 100;
/** An event is heard before the log has it: how long and how often it is looked for. */
const LATE_MS = 500;
const AGAIN_MS = 20;
/** How often is looked whether something was missed. */
const CHECK_MS = 5_000;

/** An event, ready to be sent. */
export interface FeedEvent {
  seq: number;
  tenant: string;
  /** Its lines but for the id. */
  text: string;
}

export interface FeedListener {
  /** The next events of all tenants, in order, none missing since the last. */
  events(events: readonly FeedEvent[]): void;
  /** The log is another one: nothing is known of what was between. */
  lost(): void;
}

/** The log of events, read once for all clients of this gateway, and only while there are any. */
export interface EventFeed {
  /** From now on, and where that is. Leaving stops it. */
  join(listener: FeedListener): Promise<{ leave: () => void }>;
  /** Position in the log up to which events were read here. */
  readonly position: LogPosition;
  /** Part of what the log has, from a number on. */
  page(fromSeq: number): Promise<FeedEvent[]>;
}

const NOWHERE: LogPosition = { name: '', seq: 0 };

export function createEventFeed({ bus, log }: { bus: Bus; log: Logger }): EventFeed {
  const listeners = new Set<FeedListener>();
  let position = NOWHERE;
  let events: Log | undefined;
  let opening: Promise<void> | undefined;
  let close: (() => void) | undefined;
  let pulling: Promise<void> | undefined;
  let rungAt = Number.NEGATIVE_INFINITY;

  async function open(): Promise<void> {
    const opened = await bus.log(EVENTS_LOG);
    const subscription = bus.subscribe(subjects.events, ring);
    try {
      position = await opened.position();
    } catch (error) {
      subscription.unsubscribe();
      throw error;
    }
    events = opened;
    const restored = bus.onRestored(check);
    const checks = setInterval(() => void check().catch(note), CHECK_MS).unref();
    close = () => {
      subscription.unsubscribe();
      restored();
      clearInterval(checks);
    };
    ring(); // Events may have arrived before the subscription.
  }

  /** There is something new, or will be in a moment. */
  function ring(): void {
    rungAt = performance.now();
    pulling ??= pull()
      .catch(note)
      .finally(() => (pulling = undefined));
  }

  async function pull(): Promise<void> {
    while (close && performance.now() - rungAt < LATE_MS) {
      const found = await read(position.seq + 1);
      if (found.length === 0) await new Promise((resolve) => void setTimeout(resolve, AGAIN_MS).unref());
    }
  }

  /** Reads new entries and delivers them to all readers. */
  async function read(fromSeq: number): Promise<LogEntry[]> {
    const { name } = position;
    const entries = (await events?.page(subjects.events, fromSeq, PAGE)) ?? [];
    const last = entries.at(-1);
    // Meanwhile the log may have become another one.
    if (last === undefined || position.name !== name) return [];
    position = { name, seq: last.seq };
    const fresh = entries.map(render);
    for (const listener of listeners) listener.events(fresh);
    return entries;
  }

  /** Nothing tells of a log that was lost but the log itself. */
  async function check(): Promise<void> {
    const now = await events?.position();
    if (!now || !close) return;
    if (now.name !== position.name || now.seq < position.seq) {
      position = { name: now.name, seq: 0 };
      for (const listener of listeners) listener.lost();
    }
    if (now.seq > position.seq) ring();
  }

  function note(err: unknown): void {
    log.warn({ err, errorKind: 'dependency', hint: 'they are kept, and read when the bus is back' }, 'events not read');
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
    page: async (fromSeq) => ((await events?.page(subjects.events, fromSeq, PAGE)) ?? []).map(render),
  };
}

/** Renders an entry. Entries that are no events, or have no tenant, are not delivered. */
function render(entry: LogEntry): FeedEvent {
  const { seq } = entry;
  const event = readEvent(entry);
  if (!event) return { seq, tenant: '', text: '' };
  const { payload, name, tenant } = event;
  const json = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
  return { seq, tenant, text: `event: ${name}\ndata: ${json}\n\n` };
}
