import type { WebSocket } from 'ws';
import { type Caller, addIncompleteBytes } from '../request/caller.ts';

/** Header of a ping or pong: two bytes and a mask. */
const CONTROL_HEADER_BYTES = 6;
const POLICY_VIOLATION = 1008;

/** The part of a connection that byte counting needs. */
interface FrameSource {
  readonly socket: WebSocket;
  readonly caller: Caller;
  /** Received bytes of an incomplete message. */
  incompleteBytes: number;
  /** When the first of them arrived (`performance.now()`). */
  incompleteSince: number;
}

/**
 * Counts received bytes against the incomplete bytes of the client until they form a message. Closes the connection above the limit.
 * `maxPayload` is the maximum size of one message.
 */
export function addFrameBytes(connection: FrameSource, bytes: number, maxPayload: number): void {
  if (connection.incompleteBytes === 0) connection.incompleteSince = performance.now();
  connection.incompleteBytes += bytes;
  if (addIncompleteBytes(connection.caller, bytes, maxPayload)) return;
  connection.socket.close(POLICY_VIOLATION, 'Too many incomplete frames');
  setImmediate(() => connection.socket.terminate()); // the client may not complete the closing handshake either
}

/** Releases the bytes of a completed message or closed connection, including bytes of a next message from the same read. */
export function releaseFrameBytes(connection: FrameSource): void {
  addIncompleteBytes(connection.caller, -connection.incompleteBytes, 0);
  connection.incompleteBytes = 0;
}

/** Releases the bytes of a ping or pong, which may arrive between the frames of a message. */
export function releaseControlFrame(connection: FrameSource, payload: Buffer): void {
  const bytes = Math.min(connection.incompleteBytes, payload.length + CONTROL_HEADER_BYTES);
  addIncompleteBytes(connection.caller, -bytes, 0);
  connection.incompleteBytes -= bytes;
}
