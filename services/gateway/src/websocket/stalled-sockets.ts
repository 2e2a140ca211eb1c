import type { Socket } from 'node:net';
import type { Settings } from '@switchyard/service-kit';
import type { Connection, Connections } from './connections.ts';

const CHECK_INTERVAL_MS = 1_000;
/** How long a connection without progress keeps its place when a new connection needs one. */
const EVICTABLE_AFTER_MS = 5_000;
const CLOSE_POLICY_VIOLATION = 1008;

export interface StalledSockets extends Disposable {
  /** Closes one connection that makes no progress, to make room. Returns whether there was one. */
  evict(isCandidate: (connection: Connection) => boolean): boolean;
}

/** What a client had read when it was last seen to read. */
interface Unread {
  bytes: number;
  since: number;
}

/**
 * Closes connections whose client does not read what was sent to it (`gateway.stallTimeoutMs`), or does not complete a message
 * (`gateway.requestTimeoutMs`). One timer serves all connections.
 */
export function closeStalledSockets({
  settings,
  connections,
  intervalMs = CHECK_INTERVAL_MS,
  now = () => performance.now(),
}: {
  settings: Settings<'gateway'>;
  connections: Connections;
  intervalMs?: number;
  now?: () => number;
}): StalledSockets {
  /** Connections with unsent bytes. */
  const unread = new Map<Connection, Unread>();

  function close(connection: Connection): void {
    connection.socket.terminate();
    connections.remove(connection);
    unread.delete(connection);
  }

  function hasStalled(connection: Connection, timeoutMs: number): boolean {
    if (connection.socket.bufferedAmount === 0) {
      unread.delete(connection);
      return false;
    }
    const stream = connection.stream as Socket;
    const bytes = stream.bytesWritten - stream.writableLength;
    const seen = unread.get(connection);
    if (seen?.bytes === bytes) return now() - seen.since >= timeoutMs;
    unread.set(connection, { bytes, since: now() });
    return false;
  }

  function findStalled(isCandidate: (connection: Connection) => boolean): Connection | undefined {
    const before = now() - EVICTABLE_AFTER_MS;
    for (const [connection, { since }] of unread) if (since <= before && isCandidate(connection)) return connection;
    for (const connection of connections.all)
      if (connection.incompleteBytes > 0 && connection.incompleteSince <= before && isCandidate(connection)) return connection;
    return undefined;
  }

  const timer = setInterval(() => {
    const { stallTimeoutMs, requestTimeoutMs } = settings.current.gateway;
    for (const connection of unread.keys()) if (!connections.all.has(connection)) unread.delete(connection);
    for (const connection of connections.all) {
      if (hasStalled(connection, stallTimeoutMs)) close(connection);
      else if (connection.incompleteBytes > 0 && now() - connection.incompleteSince >= requestTimeoutMs) {
        connection.socket.close(CLOSE_POLICY_VIOLATION, 'The message did not arrive in time');
        close(connection);
      }
    }
  }, intervalMs).unref();

  return {
    evict(isCandidate) {
      const connection = findStalled(isCandidate);
      if (connection) close(connection);
      return connection !== undefined;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
