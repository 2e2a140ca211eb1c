import type { Msg } from '@nats-io/nats-core';
import type { MsgImpl } from '@nats-io/nats-core/internal';
import { findHeader } from '../wire/headers.ts';
import type { Message } from '../wire/transport.ts';

const SPACE = 0x20;
/** `NATS/1.0` */
const VERSION_BYTES = 8;

interface NatsMessage extends Message {
  readonly bytes: Uint8Array;
  /** Length of the header block at the start of `bytes`. */
  readonly headerLength: number;
  text: string | undefined;
}

/**
 * Reads a message from the parser's raw fields. The client's own view decodes all headers into objects, which costs more than the rest of a
 * call. `subject` is set for subscriptions with a fixed subject.
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

/** `NATS/1.0 503 …` has a status. Without a status no space follows the version. */
function readStatus(bytes: Uint8Array): number | undefined {
  if (bytes[VERSION_BYTES] !== SPACE) return undefined;
  const status = Number.parseInt(latin1(bytes, VERSION_BYTES + 1, VERSION_BYTES + 4), 10);
  return Number.isNaN(status) ? undefined : status;
}

function readHeader(this: NatsMessage, name: string): string | undefined {
  if (this.headerLength === 0) return undefined;
  return findHeader((this.text ??= latin1(this.bytes, 0, this.headerLength)), name);
}

/** Subjects and header values are ASCII. A message within one read is a Buffer; a message across two reads is a Uint8Array. */
function latin1(bytes: Uint8Array, from = 0, to = bytes.length): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.toString('latin1', from, to);
}
