import type { Msg, NatsConnection } from '@nats-io/nats-core';
import type { MsgImpl, NatsConnectionImpl } from '@nats-io/nats-core/internal';
import { connect } from '@nats-io/transport-node';
import { natsUrl } from './http.ts';

type Publish = (subject: string, reply: string, payload: string) => void;

export async function connectHop(): Promise<NatsConnection> {
  return connect({ servers: natsUrl(), noAsyncTraces: true });
}

/** Collects the messages of one event loop iteration into one write. */
export function createPublish(connection: NatsConnection): Publish {
  const { protocol } = connection as NatsConnectionImpl;
  let waiting = '';
  const flush = (): void => {
    protocol.sendCommand(Buffer.from(waiting));
    waiting = '';
  };
  return (subject, reply, payload) => {
    if (waiting === '') setImmediate(flush);
    waiting += `PUB ${subject} ${reply} ${Buffer.byteLength(payload)}\r\n${payload}\r\n`;
  };
}

type Ask = (subject: string, payload: string, onReply: (bytes: Uint8Array) => void) => void;

/** Requests with one wildcard inbox and a map of callbacks, without a promise, timer or error object per request. */
export function createRequest(connection: NatsConnection): Ask {
  return createAsk(connection, '_INBOX_bench.', () => true);
}

/** Same as `createRequest` for streamed replies; an empty message ends the stream. */
export function createFollow(connection: NatsConnection): Ask {
  return createAsk(connection, '_INBOX_pieces.', (bytes) => bytes.length === 0);
}

function createAsk(connection: NatsConnection, inbox: string, isLast: (bytes: Uint8Array) => boolean): Ask {
  const publish = createPublish(connection);
  const waiting = new Map<string, (bytes: Uint8Array) => void>();
  let last = 0;
  connection.subscribe(`${inbox}*`, {
    callback(_error, message) {
      const id = readSubject(message).slice(inbox.length);
      const bytes = (message as MsgImpl)._rdata;
      const onReply = waiting.get(id);
      if (isLast(bytes)) waiting.delete(id);
      onReply?.(bytes);
    },
  });
  return (subject, payload, onReply) => {
    const id = (++last).toString(36);
    waiting.set(id, onReply);
    publish(subject, inbox + id, payload);
  };
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","result":');

/** Puts the bytes of a reply into a JSON-RPC envelope without parsing them. */
export function splice(result: Uint8Array, id: unknown): Buffer {
  const tail = `,"id":${JSON.stringify(id)}}`;
  const envelope = Buffer.allocUnsafe(HEAD.length + result.length + Buffer.byteLength(tail));
  envelope.set(HEAD, 0);
  envelope.set(result, HEAD.length);
  envelope.write(tail, HEAD.length + result.length);
  return envelope;
}

export function readReply(message: Msg): string {
  return ascii((message as MsgImpl)._msg.reply ?? new Uint8Array());
}

export function readSubject(message: Msg): string {
  return ascii((message as MsgImpl)._msg.subject);
}

/** Decodes ASCII. The client uses TextDecoder, which is slower. */
function ascii(bytes: Uint8Array): string {
  return (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('latin1');
}
