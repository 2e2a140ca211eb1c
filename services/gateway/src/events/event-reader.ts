import type { EventFeed, FeedEvent, FeedPage } from './event-feed.ts';

/** The position of an event: its log and its sequence number. */
export interface EventPosition {
  name: string;
  seq: number;
}

/** The last event id of a client that no log here gave: it is malformed, or of another server. */
export interface UnknownPosition {
  unknownId: string;
}

/** One client of the feed. It first receives missed events from the log, then live events. */
export interface EventReader {
  /** Subscribes to the feed and returns the start position of the client, as an event without data. */
  open(after: EventPosition | UnknownPosition | undefined): Promise<string>;
  /** Starts to send events. */
  begin(): void;
  /** Continues when the client has caught up. */
  drained(): void;
  /** Renders the position up to which the client has all events, as an event without data. */
  renderPosition(): string;
  close(): void;
}

export interface EventReaderOptions {
  feed: EventFeed;
  tenant: string;
  write: (events: string) => void;
  /** Whether the client lags. Its events are read from the log later. */
  isBehind: () => boolean;
  /** Called when the log cannot be read. */
  onError: (error: unknown) => void;
}

export function createEventReader({ feed, tenant, write, isBehind, onError }: EventReaderOptions): EventReader {
  /** The next sequence number, and the name of its log. */
  let next = 0;
  let name = '';
  /** The client's position, if it belongs to another log or cannot be compared. */
  let lostPosition: { reason: 'LOG_LOST' | 'UNKNOWN_ID'; from: string } | undefined;
  let state: 'waiting' | 'reading' | 'live' | 'closed' = 'waiting';
  let leave: (() => void) | undefined;

  const renderId = (seq: number): string => `id: ${name}-${seq}\n`;

  /** Sends live events of all tenants, which have no gaps. */
  function send(events: readonly FeedEvent[]): void {
    let text = '';
    for (const event of events) {
      if (event.seq < next) continue;
      if (lostPosition !== undefined || event.seq > next) text += reset(event.seq);
      next = event.seq + 1;
      if (event.tenant === tenant) text += renderId(event.seq) + event.text;
    }
    if (text !== '') write(text);
  }

  /** Sends a page of the tenant's events. Their sequence numbers have gaps, where other tenants have events. */
  function sendPage({ events, firstSeq, lastSeq }: FeedPage): void {
    let text = '';
    if (lostPosition !== undefined || firstSeq > next) {
      const seq = Math.max(firstSeq, next);
      text += reset(seq);
      next = seq;
    }
    for (const event of events) if (event.seq >= next && event.tenant === tenant) text += renderId(event.seq) + event.text;
    next = Math.max(next, lastSeq + 1);
    if (text !== '') write(text);
  }

  /** Renders a `stream:reset`: events between the position of the client and `seq` are lost. */
  function reset(seq: number): string {
    const { reason, from } = lostPosition ?? { reason: 'TOO_OLD', from: `${name}-${next - 1}` };
    lostPosition = undefined;
    return `${renderId(seq - 1)}event: stream:reset\ndata: ${JSON.stringify({ reason, from, to: `${name}-${seq - 1}` })}\n\n`;
  }

  async function catchUp(): Promise<void> {
    state = 'reading';
    try {
      while (next <= feed.position.seq && name === feed.position.name) {
        const logName = name;
        const page = await feed.page(tenant, next);
        if (isClosed()) return;
        if (name !== logName) continue; // the events belong to a lost log
        sendPage(page);
        if (isBehind()) return void (state = 'waiting');
      }
      if (lostPosition !== undefined) write(reset((next = feed.position.seq + 1)));
      state = 'live';
    } catch (error) {
      if (!isClosed()) onError(error);
    }
  }

  function isClosed(): boolean {
    return state === 'closed';
  }

  function resume(): void {
    if (state === 'waiting') void catchUp();
  }

  return {
    async open(after) {
      const joined = await feed.join({
        events(events) {
          if (state !== 'live') return;
          if (isBehind()) state = 'waiting';
          else send(events);
        },
        // Without an id, so that a client that reconnects resumes after the last event of the log.
        progress(event) {
          if (state === 'live' && event.tenant === tenant && !isBehind()) write(event.text);
        },
        lost() {
          lostPosition ??= { reason: 'LOG_LOST', from: `${name}-${next - 1}` };
          [name, next] = [feed.position.name, 1];
          if (state === 'live') void catchUp();
        },
      });
      leave = joined.leave;
      name = feed.position.name;
      const start = `${renderId(feed.position.seq)}\n`;
      next = feed.position.seq + 1;
      if (after === undefined) return start;
      const id = 'unknownId' in after ? after.unknownId : `${after.name}-${after.seq}`;
      if ('unknownId' in after || (after.name === name && !(await feed.reaches(after.seq)))) {
        lostPosition = { reason: 'UNKNOWN_ID', from: id };
        return start;
      }
      if (after.name === name) next = after.seq + 1;
      else [lostPosition, next] = [{ reason: 'LOG_LOST', from: id }, 1];
      return `id: ${id}\n\n`;
    },
    begin: resume,
    drained: resume,
    renderPosition: () => (state === 'live' && lostPosition === undefined ? `${renderId(next - 1)}\n` : ''),
    close() {
      state = 'closed';
      leave?.();
    },
  };
}
