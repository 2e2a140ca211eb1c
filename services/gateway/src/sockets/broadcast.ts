import type { Connection } from './connections.ts';
import { textFrame } from './text-frame.ts';

/** Connections that are written to before others get their turn of the event loop. */
const SLICE = 512;
/** What one write to a client holds at most; a longer run of messages becomes several. */
const RUN_BYTES = 256 * 1024;
/** What may wait to be written to anybody. Whoever reads too little is cut off long before; this is for an edge that writes too little. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

export interface Broadcast {
  /**
   * Sends a message to whoever `receivers` says when it is its turn. Messages of all topics arrive in the order in which they were
   * sent. False when too much waits already: then it is sent to nobody.
   */
  send(topic: string, message: Uint8Array, receivers: () => Iterable<Connection>): boolean;
}

/** Messages of one topic that follow upon each other: one piece of bytes, made once for all receivers. */
interface Run {
  readonly topic: string;
  readonly receivers: () => Iterable<Connection>;
  readonly frames: Buffer[];
  bytes: number;
}

/**
 * Tells many connections the same. Each gets everything that came since it was last written to in one write: a write to a socket
 * costs a thousand times what another frame in it costs, so the more there is to tell, the less each message costs.
 */
export function createBroadcast(write: (connection: Connection, frames: Buffer) => void): Broadcast {
  const runs: Run[] = [];
  let waitingBytes = 0;
  let current: { receivers: Iterator<Connection>; frames: Buffer } | undefined;

  function begin(): void {
    const run = runs.shift();
    if (run === undefined) return;
    waitingBytes -= run.bytes;
    const frames = run.frames.length === 1 ? (run.frames[0] as Buffer) : Buffer.concat(run.frames, run.bytes);
    current = { receivers: run.receivers()[Symbol.iterator](), frames };
  }

  function slice(): void {
    for (let written = 0; written < SLICE;) {
      if (current === undefined) begin();
      if (current === undefined) return;
      const { value, done } = current.receivers.next();
      if (done) current = undefined;
      else {
        write(value, current.frames);
        written++;
      }
    }
    setImmediate(slice);
  }

  return {
    send(topic, message, receivers) {
      if (waitingBytes + message.length > MAX_WAITING_BYTES) return false;
      const idle = runs.length === 0 && current === undefined;
      const frame = textFrame(message);
      waitingBytes += frame.length;
      const last = runs.at(-1);
      if (last?.topic === topic && last.bytes < RUN_BYTES) {
        last.frames.push(frame);
        last.bytes += frame.length;
      } else runs.push({ topic, receivers, frames: [frame], bytes: frame.length });
      if (idle) setImmediate(slice);
      return true;
    },
  };
}
