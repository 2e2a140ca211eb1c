import type { ProtocolHandler } from '@nats-io/nats-core/internal';
import { checkMessage } from '../wire/validation.ts';
import { measureHeaders } from '../wire/headers.ts';
import type { Outgoing } from '../wire/transport.ts';

/** Limits of the outage buffer. Later messages are rejected. */
export const BUFFER_TIMEOUT_MS = 5_000;
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/**
 * Messages that are flushed without waiting for the end of the event-loop turn. The server and the receivers work on them meanwhile;
 * without this limit all processes would work in turn instead of in parallel.
 */
const FLUSH_BATCH_SIZE = 64;
/** Larger payloads are passed on by reference. Smaller ones are copied into one buffer. */
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
  /** Returns false if the message is rejected. Throws for invalid messages. */
  publish(message: Outgoing): boolean;
  /** Sends all queued messages if the server is reachable. */
  flush(): void;
  /** Drops the queued requests, whose callers are notified of a failure, and rejects messages until the next flush. */
  rejectMessages(): void;
  /** Bytes that wait for a reconnect. */
  bufferedBytes(): number;
}

/** Sends the messages of one event-loop turn in one write, or in a few. */
export function createOutbound(connection: SendingConnection, maxPayload: number, bufferTimeoutMs = BUFFER_TIMEOUT_MS): Outbound {
  const { protocol } = connection;
  let queue: Outgoing[] = [];
  let scheduled = false;
  let bufferedBytes = 0;
  let disconnectedAt = 0;
  let rejecting = false;

  function flush(): void {
    scheduled = false;
    if (!protocol.connected) {
      if (queue.length > 0 && disconnectedAt === 0) disconnectedAt = Date.now(); // these messages are buffered from now on
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
    if (rejecting || now - disconnectedAt > bufferTimeoutMs || bytes > MAX_BUFFERED_BYTES) return false;
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

/** The client's own `publish` allocates four small buffers for each message and joins them later. */
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

/** Formats the command before the payload. It is ASCII, so its length is its size. */
function formatCommand({ subject, reply, headers, data }: Outgoing): string {
  const to = reply === undefined ? subject : `${subject} ${reply}`;
  if (headers === undefined) return `PUB ${to} ${data.length}\r\n`;
  const bytes = measureHeaders(headers);
  return `HPUB ${to} ${bytes} ${bytes + data.length}\r\nNATS/1.0${headers}\r\n\r\n`;
}
