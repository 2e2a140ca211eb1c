import type { Connection } from './connections.ts';

/** Messages that are sent before other work gets its turn of the event loop. */
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

/** Consecutive messages of one topic. */
interface Run {
  readonly topic: string;
  readonly receivers: () => Iterable<Connection>;
  readonly messages: Uint8Array[];
  bytes: number;
}

/**
 * Tells many connections the same. Each gets everything that came since it was last written to in one write: a write to a socket
 * costs a thousand times what another frame in it costs, so the more there is to tell, the less each message costs.
 */
export function createBroadcast(sendAll: (connection: Connection, messages: readonly Uint8Array[]) => void): Broadcast {
  const runs: Run[] = [];
  let waitingBytes = 0;
  let current: { receivers: Iterator<Connection>; messages: readonly Uint8Array[] } | undefined;

  function begin(): void {
    const run = runs.shift();
    if (run === undefined) return;
    waitingBytes -= run.bytes;
    current = { receivers: run.receivers()[Symbol.iterator](), messages: run.messages };
  }

  function slice(): void {
    for (let sent = 0; sent < SLICE;) {
      if (current === undefined) begin();
      if (current === undefined) return;
      const { value, done } = current.receivers.next();
      if (done) current = undefined;
      else {
        sendAll(value, current.messages);
        sent += current.messages.length;
      }
    }
    setImmediate(slice);
  }

  return {
    send(topic, message, receivers) {
      if (waitingBytes + message.length > MAX_WAITING_BYTES) return false;
      const idle = runs.length === 0 && current === undefined;
      waitingBytes += message.length;
      const last = runs.at(-1);
      if (last?.topic === topic && last.bytes < RUN_BYTES) {
        last.messages.push(message);
        last.bytes += message.length;
      } else runs.push({ topic, receivers, messages: [message], bytes: message.length });
      if (idle) setImmediate(slice);
      return true;
    },
  };
}
