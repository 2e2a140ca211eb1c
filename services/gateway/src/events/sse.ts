import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

const TICK_MS = 5_000;
/** Every third tick, so a ping each fifteen seconds. */
const PING_TICKS = 3;
/** A client that has taken nothing for so many ticks is not reading. */
const STALL_TICKS = 6;
/** Characters that may wait for a client that reads too slowly. */
const MAX_WAITING = 1024 * 1024;
const PING = ': ping\n\n';
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** One response that is a stream of server-sent events. Each event leaves in one write: some clients forget half events. */
export interface EventStream {
  /** Writes a whole event, or several. */
  write(event: string): void;
  /** The client takes no more for now: what can be joined should wait until `onDrain`. */
  readonly behind: boolean;
  /** The response is complete. */
  end(last?: string): void;
  /** Breaks the connection, so that the client does not mistake the stream for complete. */
  cut(): void;
}

export interface EventStreamOptions {
  /** Sent together with the headers. */
  first: string;
  /** Extra headers. */
  headers?: Record<string, string>;
  /** Whether the client still may read; asked every few seconds. */
  admitted(): boolean;
  /** Sent with each keep-alive, so that a client without events knows its position. */
  place?: () => string;
  /** The client has caught up. */
  onDrain(): void;
  /** The response is over, whoever ended it. */
  onClose(): void;
  tickMs?: number;
}

/** Answers 200 and begins the stream. */
export function openEventStream(reply: FastifyReply, options: EventStreamOptions): EventStream {
  reply.hijack();
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
  return beginEventStream(reply.raw, headers, options);
}

/** Same as `openEventStream` for a raw response. `headers` are the common headers, names and values alternating. */
export function beginEventStream(raw: ServerResponse, headers: readonly string[], options: EventStreamOptions): EventStream {
  let stalled = 0;
  let ticks = 0;

  const cut = (): void => void raw.destroy();
  const write = (event: string): void => void (raw.destroyed || raw.writableEnded || raw.write(event));
  const ticker = setInterval(() => {
    stalled = raw.writableNeedDrain || raw.writableEnded ? stalled + 1 : 0;
    if (stalled >= STALL_TICKS || !options.admitted()) cut();
    else if (++ticks % PING_TICKS === 0 && stalled === 0) write(PING + (options.place?.() ?? ''));
  }, options.tickMs ?? TICK_MS);
  const onClose = (): void => {
    clearInterval(ticker);
    options.onClose();
  };

  raw.on('error', cut);
  raw.on('drain', () => {
    stalled = 0;
    options.onDrain();
  });
  if (raw.destroyed) onClose();
  else {
    raw.once('close', onClose);
    raw.writeHead(200, headersOf(headers, { ...HEADERS, ...options.headers }));
    raw.write(options.first);
  }
  return {
    write,
    get behind() {
      return raw.writableNeedDrain;
    },
    end: (last) => void (raw.destroyed || raw.end(last)),
    cut,
  };
}

/** Merges headers; those of the stream replace others of the same name. */
function headersOf(headers: readonly string[], own: Readonly<Record<string, string>>): string[] {
  const all = Object.entries(own).flat();
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (!Object.hasOwn(own, name)) all.push(name, value);
  }
  return all;
}

/** Text for one client. While the client lags, new text is appended to the pending text instead of queued. */
export interface JoinedText {
  add(text: string): void;
  /** The client has caught up. */
  drained(): void;
  /** Sends what waits, at once. */
  flush(): void;
}

export interface JoinedTextOptions {
  /** Gets all text that waits, in one piece. */
  send: (text: string) => void;
  /** How many milliseconds there must be between the last piece and the next; what comes meanwhile is joined. */
  pauseMs?: () => number;
}

export function createJoinedText(stream: EventStream, { send, pauseMs = () => 0 }: JoinedTextOptions): JoinedText {
  let waiting = '';
  let sentAt = Number.NEGATIVE_INFINITY;
  let pause: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(pause);
    pause = undefined;
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    sentAt = performance.now();
    send(text);
  }

  function offer(): void {
    pause = undefined;
    if (stream.behind) return; // The position is requested again when the client has caught up.
    const wait = sentAt + pauseMs() - performance.now();
    if (wait < 1) flush();
    else pause = setTimeout(offer, wait).unref();
  }

  return {
    add(text) {
      waiting += text;
      if (stream.behind && waiting.length > MAX_WAITING) stream.cut();
      else if (pause === undefined) offer();
    },
    drained: () => void (pause === undefined && offer()),
    flush,
  };
}
