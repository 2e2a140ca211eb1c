import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Connection } from './connection.ts';
import type { PlainRoute } from '../wire.ts';
import type { PlainReply } from './plain-reply.ts';

export interface FastPathOptions {
  /** Not listening yet. */
  server: Server;
  routes: readonly PlainRoute[];
  draining: AbortSignal;
  /** Told of each request that is answered here. */
  onRequest: (socket: Socket, reply: PlainReply) => void;
}

/** The connections on which every request so far was read at a glance. */
export interface FastPath extends Disposable {
  /** Ends those that have nothing under way. */
  closeIdle(): void;
}

/** What HTTP calls the request line of such a route. */
export function requestLine(verb: string, path: string): Buffer {
  return Buffer.from(`${verb} ${path} HTTP/1.1\r\n`);
}

/**
 * Answers what is called most without Node's reader of HTTP, which costs more than all that is done with a short call. Every other
 * request, and everything after it on its connection, goes to Node as if it had been there from the start
 * (docs/decisions/0014).
 */
export function openFastPath({ server, routes, draining, onRequest }: FastPathOptions): FastPath {
  const connections = new Map<Socket, Connection>();
  const readByNode = takeReader(server);

  const accept = (socket: Socket): void => {
    if (socket.destroyed) return; // there was no room for it
    const connection: Connection = new Connection({
      socket,
      routes,
      draining,
      mostRequests: server.maxRequestsPerSocket ?? Infinity,
      keepAliveMs: server.keepAliveTimeout,
      onRequest,
      handOver(bytes) {
        for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
        connections.delete(socket);
        readByNode(socket);
        socket.unshift(bytes);
      },
    });
    const listeners = {
      data: (bytes: Buffer) => connection.read(bytes),
      drain: () => connection.goOn(),
      // Whoever says that nothing more comes is gone, as Node has it.
      end: () => socket.end(),
      timeout: () => socket.destroy(),
      error: () => socket.destroy(),
      close() {
        connections.delete(socket);
        connection.closed();
      },
    };
    connections.set(socket, connection);
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  };
  server.on('connection', accept);

  /** Who says nothing for too long is told so, or, after an answer, is not kept any longer. */
  const sweep = setInterval(() => {
    const now = performance.now();
    for (const [socket, { asked, busy, idleSince }] of connections) {
      if (busy || now - idleSince < (asked ? server.keepAliveTimeout : server.headersTimeout)) continue;
      if (asked) socket.destroy();
      else server.emit('clientError', Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
    }
  }, SWEEP_MS).unref();

  return {
    closeIdle() {
      for (const [socket, { asked, busy }] of connections) if (asked && !busy) socket.destroy();
    },
    [Symbol.dispose]() {
      clearInterval(sweep);
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}

const SWEEP_MS = 5_000;

/** Node reads HTTP as a listener of its own server's connections, which may be called with any of them. */
function takeReader(server: Server): (socket: Socket) => void {
  const [reader, ...others] = server.listeners('connection');
  if (reader === undefined || reader.name !== NODES_READER) throw new TypeError('Node reads HTTP in another way than it did.');
  server.removeAllListeners('connection');
  for (const other of others) server.on('connection', other as (socket: Socket) => void);
  return (socket) => void Reflect.apply(reader, server, [socket]);
}

const NODES_READER = 'connectionListener';
