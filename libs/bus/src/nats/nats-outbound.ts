import type { ProtocolHandler } from '@nats-io/nats-core/internal';
import { checkMessage } from '../wire/validation.ts';
import { measureHeaders } from '../wire/headers.ts';
import type { Outgoing } from '../wire/transport.ts';

/** For how long, and how much, is kept for a server that cannot be reached. What comes later is refused. */
export const BUFFER_TIMEOUT_MS = 5_000;
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/**
 * So many do not wait for the end of the turn: the server and whoever they are for begin with them while the rest are made. Else many
 * calls would go round all together, and everybody but one would stand still at any time.
 */
const FLUSH_BATCH_SIZE = 64;
/** Larger payloads are handed over as they are; smaller ones share one buffer. */
const MAX_COPIED_BYTES = 16 * 1024;

const [CR, LF] = [0x0d, 0x0a] as const;
const LINE_END = Buffer.of(CR, LF);

type Protocol = Pick<ProtocolHandler, 'connected' | 'sendCommand'>;

/** The part of the client's connection that sends. `protocol` is declared by `@nats-io/nats-core/internal`. */
export interface SendingConnection {
  readonly protocol: Protocol;
  /** Hands all buffered commands to the socket before it returns, followed by a PING. */
  flush(): Promise<void>;
}

export interface Outbound {
  /** False when it is refused. Throws for what must never reach the wire. */
  publish(message: Outgoing): boolean;
  /** Hands over all that waits now, if the server can be reached. */
  flush(): void;
  /** Drops the requests that wait, because those who made them are told that they failed, and refuses all else until a flush. */
  rejectMessages(): void;
  /** How much waits for a server that cannot be reached. */
  bufferedBytes(): number;
}

/** What is published in one turn of the event loop goes to the server as one write, or as few. */
export function createOutbound(connection: SendingConnection, maxPayload: number, holdMs = BUFFER_TIMEOUT_MS): Outbound {
  const { protocol } = connection;
  let queue: Outgoing[] = [];
  let scheduled = false;
  let bufferedBytes = 0;
  let disconnectedAt = 0;
  let rejecting = false;

  function flush(): void {
    scheduled = false;
    if (!protocol.connected) {
      if (queue.length > 0 && disconnectedAt === 0) disconnectedAt = Date.now(); // they too are held from now on
      return;
    }
    const messages = disconnectedAt === 0 ? queue : queue.filter(isWanted);
    queue = [];
    bufferedBytes = 0;
    disconnectedAt = 0;
    rejecting = false;
    send(protocol, messages);
  }

  /** The client alone would write in a microtask, after all that are queued already. Its PING costs six bytes for each batch. */
  function writeNow(): void {
    flush();
    connection.flush().catch(() => undefined); // a lost connection is reported by the status events
  }

  function hold(message: Outgoing): boolean {
    const now = Date.now();
    if (disconnectedAt === 0) disconnectedAt = now;
    const bytes = bufferedBytes + message.data.length;
    if (rejecting || now - disconnectedAt > holdMs || bytes > MAX_BUFFERED_BYTES) return false;
    bufferedBytes = bytes;
    queue.push(message);
    return true;
  }

  return {
    publish(message) {
      checkMessage(message, maxPayload);
      if (!protocol.connected) return hold(message);
      if (queue.push(message) >= FLUSH_BATCH_SIZE) writeNow();
      if (!scheduled) {
        scheduled = true;
        setImmediate(flush);
      }
      return true;
    },
    flush,
    rejectMessages() {
      rejecting = true;
      queue = queue.filter(({ expires }) => expires === undefined);
    },
    bufferedBytes: () => (protocol.connected ? 0 : queue.reduce((bytes, { data }) => bytes + data.length, 0)),
  };
}

function isWanted({ expires }: Outgoing): boolean {
  return expires === undefined || expires > performance.now();
}

/** The client's own `publish` makes four small buffers of each message and joins them again. */
function send(protocol: Protocol, messages: readonly Outgoing[]): void {
  let from = 0;
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] as Outgoing;
    if (message.data.length <= MAX_COPIED_BYTES) continue;
    sendBatch(protocol, messages.slice(from, at));
    protocol.sendCommand(formatCommand(message), message.data, LINE_END);
    from = at + 1;
  }
  sendBatch(protocol, from === 0 ? messages : messages.slice(from));
}

function sendBatch(protocol: Protocol, messages: readonly Outgoing[]): void {
  if (messages.length === 0) return;
  const heads: string[] = [];
  let size = 0;
  for (const message of messages) {
    const text = formatCommand(message);
    heads.push(text);
    size += text.length + message.data.length + LINE_END.length;
  }
  const buffer = Buffer.allocUnsafe(size);
  let offset = 0;
  for (let at = 0; at < messages.length; at++) {
    const { data } = messages[at] as Outgoing;
    offset += buffer.write(heads[at] as string, offset, 'latin1');
    buffer.set(data, offset);
    offset += data.length;
    buffer[offset++] = CR;
    buffer[offset++] = LF;
  }
  protocol.sendCommand(buffer);
}

/** All before the payload: ASCII, so its length is its size. */
function formatCommand({ subject, reply, headers, data }: Outgoing): string {
  const to = reply === undefined ? subject : `${subject} ${reply}`;
  if (headers === undefined) return `PUB ${to} ${data.length}\r\n`;
  const bytes = measureHeaders(headers);
  return `HPUB ${to} ${bytes} ${bytes + data.length}\r\nNATS/1.0${headers}\r\n\r\n`;
}
