import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

const TICK_MS = 5_000;
/** Ticks between pings: one ping every fifteen seconds. */
const PING_TICKS = 3;
/** Ticks without progress after which the client counts as not reading. */
const STALL_TICKS = 6;
/** Characters buffered for a slow client, above which its connection is closed. */
const MAX_PENDING_CHARS = 1024 * 1024;
const PING = ': ping\n\n';
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** A response with server-sent events. Each event is sent in one write, because some clients drop partial events. */
export interface EventStream {
  /** Writes one or more complete events. */
  write(event: string): void;
  /** Whether the client lags. Text that can be joined should wait for `onDrain`. */
  readonly needsDrain: boolean;
  /** Completes the response. */
  end(last?: string): void;
  /** Closes the connection, so that the client does not mistake the stream for complete. */
  cut(): void;
}

export interface EventStreamOptions {
  /** Sent together with the headers. */
  first: string;
  /** Extra headers. */
  headers?: Record<string, string>;
  /** Whether the client may still read. Checked every few seconds. */
  isAuthorized(): boolean;
  /** Sent with each keep-alive, so that a client without events knows its position. */
  renderPosition?: () => string;
  /** Called when the client has caught up. */
  onDrain(): void;
  /** Called when the response has ended for any reason. */
  onClose(): void;
  tickMs?: number;
}

/** Sends status 200 and starts the stream. */
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
    if (stalled >= STALL_TICKS || !options.isAuthorized()) cut();
    else if (++ticks % PING_TICKS === 0 && stalled === 0) write(PING + (options.renderPosition?.() ?? ''));
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
    raw.writeHead(200, mergeHeaders(headers, { ...HEADERS, ...options.headers }));
    raw.write(options.first);
  }
  return {
    write,
    get needsDrain() {
      return raw.writableNeedDrain;
    },
    end: (last) => void (raw.destroyed || raw.end(last)),
    cut,
  };
}

/** Merges headers; those of the stream replace others of the same name. */
function mergeHeaders(headers: readonly string[], own: Readonly<Record<string, string>>): string[] {
  const merged = Object.entries(own).flat();
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (!Object.hasOwn(own, name)) merged.push(name, value);
  }
  return merged;
}

/** Text for one client. While the client lags, new text is appended to the pending text instead of queued. */
export interface JoinedText {
  add(text: string): void;
  /** The client has caught up. */
  drained(): void;
  /** Sends the pending text immediately. */
  flush(): void;
}

export interface JoinedTextOptions {
  /** Sends all pending text in one piece. */
  send: (text: string) => void;
  /** Minimum time between two pieces. Text that arrives in between is joined. */
  pauseMs?: () => number;
}

export function createJoinedText(stream: EventStream, { send, pauseMs = () => 0 }: JoinedTextOptions): JoinedText {
  let pending = '';
  let sentAt = Number.NEGATIVE_INFINITY;
  let pause: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(pause);
    pause = undefined;
    if (pending === '') return;
    const text = pending;
    pending = '';
    sentAt = performance.now();
    send(text);
  }

  function flushOrWait(): void {
    pause = undefined;
    if (stream.needsDrain) return; // sent when the client has caught up
    const waitMs = sentAt + pauseMs() - performance.now();
    if (waitMs < 1) flush();
    else pause = setTimeout(flushOrWait, waitMs).unref();
  }

  return {
    add(text) {
      pending += text;
      if (stream.needsDrain && pending.length > MAX_PENDING_CHARS) stream.cut();
      else if (pause === undefined) flushOrWait();
    },
    drained: () => void (pause === undefined && flushOrWait()),
    flush,
  };
}
