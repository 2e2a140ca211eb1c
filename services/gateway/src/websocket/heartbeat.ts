import type { Settings } from '@switchyard/service-kit';
import { WebSocket } from 'ws';
import { PAUSE_BACKLOG_BYTES, type Connection, type Connections } from './connections.ts';

const PING_INTERVAL_MS = 30_000;
const MAX_UNANSWERED_PINGS = 2;
/** Connections processed before yielding to the event loop. */
const CONNECTIONS_PER_SLICE = 512;

export interface HeartbeatOptions {
  settings: Settings<'gateway'>;
  connections: Connections;
  pingIntervalMs?: number;
}

/** Starts the timers of all connections: heartbeat notifications, and pings that detect dead peers. */
export function startHeartbeat({ settings, connections, pingIntervalMs = PING_INTERVAL_MS }: HeartbeatOptions): Disposable {
  const pings = setInterval(() => forEach(connections.all, ping), pingIntervalMs).unref();
  let intervalMs = 0;
  let heartbeats: NodeJS.Timeout | undefined;

  function schedule(): void {
    const { wsHeartbeatMs } = settings.current.gateway;
    if (wsHeartbeatMs === intervalMs) return;
    intervalMs = wsHeartbeatMs;
    clearInterval(heartbeats);
    heartbeats = intervalMs === 0 ? undefined : setInterval(sendHeartbeats, intervalMs).unref();
  }

  function sendHeartbeats(): void {
    const heartbeat = [Buffer.from(`{"jsonrpc":"2.0","method":"heartbeat","params":{"ts":${Date.now()}}}`)];
    forEach(connections.all, (connection) => {
      if (connection.socket.bufferedAmount < PAUSE_BACKLOG_BYTES) connections.sendAll(connection, heartbeat);
    });
  }

  schedule();
  const unwatch = settings.onChange(schedule);
  return {
    [Symbol.dispose]() {
      unwatch();
      clearInterval(pings);
      clearInterval(heartbeats);
    },
  };
}

/** Skips a paused connection, whose pong would not be read. A backlogged connection counts as not answering. */
function ping(connection: Connection): void {
  const { socket } = connection;
  const isBacklogged = socket.bufferedAmount > PAUSE_BACKLOG_BYTES;
  if (connection.paused && !isBacklogged) return;
  if (connection.unansweredPings++ >= MAX_UNANSWERED_PINGS) socket.terminate();
  else if (!isBacklogged && socket.readyState === WebSocket.OPEN) socket.ping();
}

function forEach(connections: ReadonlySet<Connection>, visit: (connection: Connection) => void): void {
  const remaining = connections.values();
  function slice(): void {
    for (let served = 0; served < CONNECTIONS_PER_SLICE; served++) {
      const { value, done } = remaining.next();
      if (done) return;
      visit(value);
    }
    setImmediate(slice);
  }
  slice();
}
