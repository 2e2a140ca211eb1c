import type { EventFeed, FeedEvent } from './event-feed.ts';

/** The place of an event: which log, and the how manieth. */
export interface EventPlace {
  name: string;
  seq: number;
}

/** One client of the feed. It first receives missed events from the log, then live events. */
export interface EventReader {
  /** Listens from now on. Gives the place that the client begins at, as an event without data. */
  open(after: EventPlace | undefined): Promise<string>;
  /** From now on it may be written to. */
  begin(): void;
  /** The client takes more again. */
  drained(): void;
  /** The place up to which it has everything, as an event without data. */
  place(): string;
  close(): void;
}

export interface EventReaderOptions {
  feed: EventFeed;
  tenant: string;
  write: (events: string) => void;
  /** Whether the client takes no more for now: then what comes is read from the log later. */
  behind: () => boolean;
  /** The log cannot be read. */
  broken: (error: unknown) => void;
}

export function createEventReader({ feed, tenant, write, behind, broken }: EventReaderOptions): EventReader {
  /** The number that comes next, and the log that it is of. */
  let next = 0;
  let name = '';
  /** The client's position, if it belongs to another log or cannot be compared. */
  let astray: string | undefined;
  let state: 'waiting' | 'reading' | 'live' | 'closed' = 'waiting';
  let leave: (() => void) | undefined;

  const idOf = (seq: number): string => `id: ${name}-${seq}\n`;

  function send(events: readonly FeedEvent[]): void {
    let text = '';
    for (const event of events) {
      if (event.seq < next) continue;
      if (astray !== undefined || event.seq > next) text += reset(event.seq);
      next = event.seq + 1;
      if (event.tenant === tenant) text += idOf(event.seq) + event.text;
    }
    if (text !== '') write(text);
  }

  /** Some events after `from` are lost; events after this one are complete again. */
  function reset(seq: number): string {
    const reason = astray === undefined ? 'TOO_OLD' : 'LOG_LOST';
    const from = astray ?? `${name}-${next - 1}`;
    astray = undefined;
    return `${idOf(seq - 1)}event: stream:reset\ndata: ${JSON.stringify({ reason, from, to: `${name}-${seq - 1}` })}\n\n`;
  }

  async function catchUp(): Promise<void> {
    state = 'reading';
    try {
      while (next <= feed.position.seq && name === feed.position.name) {
        const from = name;
        const events = await feed.page(next);
        if (isClosed()) return;
        if (name !== from) continue; // they are of a log that is lost
        send(events);
        if (events.length === 0) skipTo(feed.position.seq + 1);
        if (behind()) return void (state = 'waiting');
      }
      if (astray !== undefined) skipTo(feed.position.seq + 1);
      state = 'live';
    } catch (error) {
      if (!isClosed()) broken(error);
    }
  }

  function isClosed(): boolean {
    return state === 'closed';
  }

  /** Skips a range whose entries no longer exist. */
  function skipTo(seq: number): void {
    if (astray === undefined && seq <= next) return;
    write(reset(seq));
    next = seq;
  }

  function goOn(): void {
    if (state === 'waiting') void catchUp();
  }

  return {
    async open(after) {
      const joined = await feed.join({
        events(events) {
          if (state !== 'live') return;
          if (behind()) state = 'waiting';
          else send(events);
        },
        lost() {
          astray ??= `${name}-${next - 1}`;
          [name, next] = [feed.position.name, 1];
          if (state === 'live') void catchUp();
        },
      });
      leave = joined.leave;
      name = feed.position.name;
      if (after === undefined) next = feed.position.seq + 1;
      else if (after.name === name) next = after.seq + 1;
      else [astray, next] = [`${after.name}-${after.seq}`, 1];
      return after === undefined ? `${idOf(next - 1)}\n` : `id: ${after.name}-${after.seq}\n\n`;
    },
    begin: goOn,
    drained: goOn,
    place: () => (state === 'live' && astray === undefined ? `${idOf(next - 1)}\n` : ''),
    close() {
      state = 'closed';
      leave?.();
    },
  };
}
