import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { type Payload, toPayloadBytes } from '../http/payload.ts';
import type { Cancel } from '../rpc/call-context.ts';
import { createGauge } from '../auth/rate-limits.ts';
import type { Caller } from '../request/caller.ts';
import { releaseFrameBytes } from './incomplete-frames.ts';

/** An open WebSocket. A gateway holds ten thousand idle connections, so they share their timers and have no buffers. */
export interface Connection {
  readonly socket: WebSocket;
  /** The stream below the WebSocket. */
  readonly stream: Duplex;
  /** The maximum size of an incoming message, in bytes. */
  readonly maxPayload: number;
  readonly caller: Caller;
  readonly address: string;
  readonly traceparent: string | undefined;
  /** Running calls. */
  pending: Set<Cancel> | undefined;
  /** Received bytes of an incomplete message. */
  incompleteBytes: number;
  /** When the first of them arrived (`performance.now()`). */
  incompleteSince: number;
  /** Messages refused by the transport. */
  rejected: number;
  unansweredPings: number;
  corked: boolean;
  paused: boolean;
}

/** A connection with more unsent bytes is closed. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;
/** A connection with more unsent bytes is not read and gets no heartbeats. */
export const PAUSE_BACKLOG_BYTES = 1024 * 1024;
const MAX_PENDING_CALLS = 1_024;

const TEXT_FRAME = { binary: false } as const;
const CLOSE_TRY_AGAIN_LATER = 1013;

/** The connections of this replica. */
export interface Connections {
  readonly all: ReadonlySet<Connection>;
  add(from: Pick<Connection, 'socket' | 'stream' | 'maxPayload' | 'caller' | 'address' | 'traceparent'>): Connection;
  remove(connection: Connection): void;
  /** Sends a message. All messages of one event-loop turn are sent in one write per client. */
  send(connection: Connection, data: Payload): void;
  /** Sends several messages, whose buffers may be shared by many connections. */
  sendAll(connection: Connection, messages: readonly Uint8Array[]): void;
  /** Pauses reading while the client has too many running calls or unsent bytes. */
  regulate(connection: Connection): void;
  byClient(client: Caller): ReadonlySet<Connection> | undefined;
  countByAddress(address: string): number;
}

export interface ConnectionsOptions {
  /** Called when the first connection of a client opens or the last one closes. */
  onClient: (client: Caller, present: boolean) => void;
}

export function createConnections({ onClient }: ConnectionsOptions): Connections {
  const all = new Set<Connection>();
  const clients = new Map<string, Set<Connection>>();
  const addresses = createGauge();
  const uncork = createCork();

  /** Whether a connection can be sent to. A client that reads too slowly is closed. */
  function canReceive({ socket }: Connection): boolean {
    if (socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount <= MAX_BACKLOG_BYTES) return true;
    socket.close(CLOSE_TRY_AGAIN_LATER, 'Too slow');
    return false;
  }

  function send(connection: Connection, data: Payload): void {
    if (!canReceive(connection)) return;
    uncork(connection);
    connection.socket.send(toPayloadBytes(data), TEXT_FRAME);
    regulate(connection);
  }

  function sendAll(connection: Connection, messages: readonly Uint8Array[]): void {
    if (!canReceive(connection)) return;
    uncork(connection);
    for (const message of messages) connection.socket.send(message, TEXT_FRAME);
    regulate(connection);
  }

  function regulate(connection: Connection): void {
    const { socket, pending } = connection;
    const pause = (pending?.size ?? 0) >= MAX_PENDING_CALLS || socket.bufferedAmount > PAUSE_BACKLOG_BYTES;
    if (pause === connection.paused) return;
    connection.paused = pause;
    if (pause) socket.pause();
    else socket.resume();
  }

  return {
    all,
    send,
    sendAll,
    regulate,
    byClient: ({ key }) => clients.get(key),
    countByAddress: (address) => addresses.count(address),
    add(from) {
      const connection = {
        ...from,
        incompleteBytes: 0,
        incompleteSince: 0,
        pending: undefined,
        rejected: 0,
        unansweredPings: 0,
        corked: false,
        paused: false,
      };
      const { caller } = from;
      all.add(connection);
      addresses.add(from.address);
      const siblings = clients.get(caller.key);
      if (siblings) siblings.add(connection);
      else {
        clients.set(caller.key, new Set([connection]));
        onClient(caller, true);
      }
      return connection;
    },
    remove(connection) {
      if (!all.delete(connection)) return;
      releaseFrameBytes(connection);
      const { caller } = connection;
      addresses.remove(connection.address);
      const siblings = clients.get(caller.key);
      siblings?.delete(connection);
      if (siblings?.size === 0) {
        clients.delete(caller.key);
        onClient(caller, false);
      }
      for (const cancel of connection.pending ?? []) cancel();
      connection.pending = undefined;
    },
  };
}

/** Corks a stream until the end of the event-loop turn, so that a client gets one system call per turn. */
function createCork(): (connection: Connection) => void {
  let corked: Connection[] = [];
  function release(): void {
    const released = corked;
    corked = [];
    for (const connection of released) {
      connection.corked = false;
      connection.stream.uncork();
    }
  }
  return (connection) => {
    if (connection.corked) return;
    connection.corked = true;
    connection.stream.cork();
    if (corked.push(connection) === 1) setImmediate(release);
  };
}
