import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { type Answer, answerBytes } from '../http/payload.ts';
import type { Cancel } from '../rpc/call-context.ts';
import { createGauge } from '../auth/rate-limits.ts';
import type { Caller } from '../request/caller.ts';
import { framesDone } from './incomplete-frames.ts';

/** One open WebSocket. Ten thousand of them idle on one edge, so nothing here has a timer or a buffer of its own. */
export interface Connection {
  readonly socket: WebSocket;
  /** The stream below the WebSocket. */
  readonly stream: Duplex;
  /** No message to us is longer, in bytes. */
  readonly largest: number;
  readonly caller: Caller;
  readonly address: string;
  readonly traceparent: string | undefined;
  /** Calls that wait for their answer. */
  pending: Set<Cancel> | undefined;
  /** Bytes that came and are no message yet. */
  held: number;
  /** Messages answered with a refusal of the transport. */
  rejected: number;
  unansweredPings: number;
  corked: boolean;
  paused: boolean;
}

/** Above this a client that does not read is cut off. */
const MAX_BACKLOG_BYTES = 4 * 1024 * 1024;
/** Above this a client that asks faster than it reads is not read from, and gets no heartbeats. */
export const PAUSE_BACKLOG_BYTES = 1024 * 1024;
const MAX_PENDING = 1_024;

const TEXT = { binary: false } as const;
const SLOW_READER = 1013;

/** All connections of this replica. */
export interface Connections {
  readonly all: ReadonlySet<Connection>;
  add(from: Pick<Connection, 'socket' | 'stream' | 'largest' | 'caller' | 'address' | 'traceparent'>): Connection;
  remove(connection: Connection): void;
  /** Writes at the end of this turn of the event loop, together with whatever else goes to the same client. */
  send(connection: Connection, data: Answer): void;
  /** The same for several messages, which many connections may share. */
  sendAll(connection: Connection, messages: readonly Uint8Array[]): void;
  /** Stops reading from a client that has too much outstanding, until it has less. */
  regulate(connection: Connection): void;
  byClient(client: Caller): ReadonlySet<Connection> | undefined;
  ofAddress(address: string): number;
}

export interface ConnectionsOptions {
  /** The first connection of a client came, or its last one left. */
  onClient: (client: Caller, present: boolean) => void;
}

export function createConnections({ onClient }: ConnectionsOptions): Connections {
  const all = new Set<Connection>();
  const clients = new Map<string, Set<Connection>>();
  const addresses = createGauge();
  const uncork = createCork();

  /** Whether a client takes more; one that reads too little is told goodbye. */
  function takes({ socket }: Connection): boolean {
    if (socket.readyState !== WebSocket.OPEN) return false;
    if (socket.bufferedAmount <= MAX_BACKLOG_BYTES) return true;
    socket.close(SLOW_READER, 'Too slow');
    return false;
  }

  function send(connection: Connection, data: Answer): void {
    if (!takes(connection)) return;
    uncork(connection);
    connection.socket.send(answerBytes(data), TEXT);
    regulate(connection);
  }

  function sendAll(connection: Connection, messages: readonly Uint8Array[]): void {
    if (!takes(connection)) return;
    uncork(connection);
    for (const message of messages) connection.socket.send(message, TEXT);
    regulate(connection);
  }

  function regulate(connection: Connection): void {
    const { socket, pending } = connection;
    const pause = (pending?.size ?? 0) >= MAX_PENDING || socket.bufferedAmount > PAUSE_BACKLOG_BYTES;
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
    ofAddress: (address) => addresses.count(address),
    add(from) {
      const connection = {
        ...from,
        held: 0,
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
      framesDone(connection);
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

/** Holds back what is written to a stream until the turn ends: one system call per client and turn, however many answers. */
function createCork(): (connection: Connection) => void {
  let corked: Connection[] = [];
  function release(): void {
    const now = corked;
    corked = [];
    for (const connection of now) {
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
