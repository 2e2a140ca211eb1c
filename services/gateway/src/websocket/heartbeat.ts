import type { Settings } from '@switchyard/service-kit';
import { WebSocket } from 'ws';
import { PAUSE_BACKLOG_BYTES, type Connection, type Connections } from './connections.ts';

const PING_EVERY_MS = 30_000;
const MAX_UNANSWERED_PINGS = 2;
/** Connections served before others get their turn of the event loop. */
const SLICE = 512;

export interface HeartbeatOptions {
  settings: Settings<'gateway'>;
  connections: Connections;
  pingEveryMs?: number;
}

/** The timers of all connections: the heartbeat that clients see, and the ping that finds those that are gone. */
export function startHeartbeat({ settings, connections, pingEveryMs = PING_EVERY_MS }: HeartbeatOptions): Disposable {
  const pings = setInterval(() => forEach(connections.all, ping), pingEveryMs).unref();
  let every = 0;
  let heartbeats: NodeJS.Timeout | undefined;

  function schedule(): void {
    const { wsHeartbeatMs } = settings.current.gateway;
    if (wsHeartbeatMs === every) return;
    every = wsHeartbeatMs;
    clearInterval(heartbeats);
    heartbeats = every === 0 ? undefined : setInterval(beat, every).unref();
  }

  function beat(): void {
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

/** No ping while we do not read from the client, since we could not see its answer. One that does not read is taken as silent. */
function ping(connection: Connection): void {
  const { socket } = connection;
  const stuck = socket.bufferedAmount > PAUSE_BACKLOG_BYTES;
  if (connection.paused && !stuck) return;
  if (connection.unansweredPings++ >= MAX_UNANSWERED_PINGS) socket.terminate();
  else if (!stuck && socket.readyState === WebSocket.OPEN) socket.ping();
}

function forEach(connections: ReadonlySet<Connection>, act: (connection: Connection) => void): void {
  const left = connections.values();
  function slice(): void {
    for (let served = 0; served < SLICE; served++) {
      const { value, done } = left.next();
      if (done) return;
      act(value);
    }
    setImmediate(slice);
  }
  slice();
}
