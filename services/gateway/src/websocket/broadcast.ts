import type { Connection } from './connections.ts';

/** Messages that are sent before other work gets its turn of the event loop. */
const MAX_MESSAGES_PER_SLICE = 512;
/** Bytes of one run of messages. A longer run is split. */
const MAX_RUN_BYTES = 256 * 1024;
/** Bytes of messages waiting to be sent, for a gateway that sends too slowly. Slow clients are closed long before. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

export interface Broadcast {
  /**
   * Queues a message for the connections that `receivers` returns when the message is sent. Messages of all topics keep their order.
   * Returns false when too many bytes are waiting; the message is not sent then.
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
 * Sends messages to many connections. Each connection gets all messages of a run in one socket write, because a write costs a thousand
 * times as much as another frame in it.
 */
export function createBroadcast(sendAll: (connection: Connection, messages: readonly Uint8Array[]) => void): Broadcast {
  const runs: Run[] = [];
  let waitingBytes = 0;
  let current: { receivers: Iterator<Connection>; messages: readonly Uint8Array[] } | undefined;

  function startNextRun(): void {
    const run = runs.shift();
    if (run === undefined) return;
    waitingBytes -= run.bytes;
    current = { receivers: run.receivers()[Symbol.iterator](), messages: run.messages };
  }

  function sendSlice(): void {
    for (let sent = 0; sent < MAX_MESSAGES_PER_SLICE;) {
      if (current === undefined) startNextRun();
      if (current === undefined) return;
      const { value, done } = current.receivers.next();
      if (done) current = undefined;
      else {
        sendAll(value, current.messages);
        sent += current.messages.length;
      }
    }
    setImmediate(sendSlice);
  }

  return {
    send(topic, message, receivers) {
      if (waitingBytes + message.length > MAX_WAITING_BYTES) return false;
      const idle = runs.length === 0 && current === undefined;
      waitingBytes += message.length;
      const last = runs.at(-1);
      if (last?.topic === topic && last.bytes < MAX_RUN_BYTES) {
        last.messages.push(message);
        last.bytes += message.length;
      } else runs.push({ topic, receivers, messages: [message], bytes: message.length });
      if (idle) setImmediate(sendSlice);
      return true;
    },
  };
}
