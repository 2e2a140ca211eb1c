import type { WebSocket } from 'ws';
import { type Caller, changeUnfinished } from '../request/caller.ts';

/** Of a ping or pong: two bytes and a mask. */
const CONTROL_HEAD_BYTES = 6;
const POLICY_VIOLATION = 1008;

/** What a connection must have for its bytes to be counted. */
interface Sender {
  readonly socket: WebSocket;
  readonly caller: Caller;
  /** Bytes that came and are no message yet. */
  held: number;
}

/**
 * Bytes came. Until they are a message they count against the budget of the client, over all its connections; who has too much
 * outstanding is cut off. `largest` is what one message may be.
 */
export function frameBytes(connection: Sender, bytes: number, largest: number): void {
  connection.held += bytes;
  if (changeUnfinished(connection.caller, bytes, largest)) return;
  connection.socket.close(POLICY_VIOLATION, 'Too much unfinished');
  setImmediate(() => connection.socket.terminate()); // whoever sends what it does not finish may not finish the closing either
}

/**
 * A message is complete, or the connection is over: its bytes no longer count. Bytes of the next message that came in the same
 * read are forgiven with them.
 */
export function framesDone(connection: Sender): void {
  changeUnfinished(connection.caller, -connection.held, 0);
  connection.held = 0;
}

/** A ping or pong was part of what came; it may stand between the frames of a message. */
export function controlFrame(connection: Sender, payload: Buffer): void {
  const bytes = Math.min(connection.held, payload.length + CONTROL_HEAD_BYTES);
  changeUnfinished(connection.caller, -bytes, 0);
  connection.held -= bytes;
}
