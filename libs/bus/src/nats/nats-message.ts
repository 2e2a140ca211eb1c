import type { Msg } from '@nats-io/nats-core';
import type { MsgImpl } from '@nats-io/nats-core/internal';
import { findHeader } from '../wire/headers.ts';
import type { Message } from '../wire/transport.ts';

const SPACE = 0x20;
/** `NATS/1.0` */
const VERSION_BYTES = 8;

interface NatsMessage extends Message {
  readonly bytes: Uint8Array;
  /** How many of them are headers. */
  readonly headerLength: number;
  text: string | undefined;
}

/**
 * Reads the message as the client's parser left it: the client's own view decodes every header into objects, which costs more
 * than all else together. `subject` is given where the subscription has only one.
 */
export function readMessage(message: Msg, subject?: string): Message {
  const { _msg: head, _rdata: bytes } = message as MsgImpl;
  const headerLength = Math.max(head.hdr, 0);
  const read: NatsMessage = {
    subject: subject ?? latin1(head.subject),
    data: headerLength === 0 ? bytes : bytes.subarray(headerLength),
    reply: head.reply && latin1(head.reply),
    status: headerLength === 0 ? undefined : readStatus(bytes),
    bytes,
    headerLength,
    text: undefined,
    header: readHeader,
  };
  return read;
}

/** `NATS/1.0 503 …`, and no space where the block only holds headers. */
function readStatus(bytes: Uint8Array): number | undefined {
  if (bytes[VERSION_BYTES] !== SPACE) return undefined;
  const status = Number.parseInt(latin1(bytes, VERSION_BYTES + 1, VERSION_BYTES + 4), 10);
  return Number.isNaN(status) ? undefined : status;
}

function readHeader(this: NatsMessage, name: string): string | undefined {
  if (this.headerLength === 0) return undefined;
  return findHeader((this.text ??= latin1(this.bytes, 0, this.headerLength)), name);
}

/** Subjects and header values are ASCII. What the socket read is a Buffer, what spanned two reads is not. */
function latin1(bytes: Uint8Array, from = 0, to = bytes.length): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.toString('latin1', from, to);
}
