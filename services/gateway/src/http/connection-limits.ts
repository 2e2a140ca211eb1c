import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Server as Listener, Socket } from 'node:net';
import type { Settings } from '@switchyard/service-kit';
import { ConnectionProgress } from './connection-progress.ts';

/** Connections accepted beyond the limits, because a new socket must be accepted before an idle one can be closed for it. */
const EXTRA_CONNECTIONS = 64;
const CHECK_INTERVAL_MS = 1_000;
const MAX_HEADERS_TIMEOUT_MS = 10_000;

export interface ConnectionLimitsOptions {
  server: Server;
  settings: Settings<'gateway'>;
  /** The remote address of a socket; undefined for a trusted proxy. */
  getPeerAddress: (socket: Socket) => string | undefined;
}

/** Open connections, without WebSockets. */
export interface HttpConnections extends Disposable {
  /** Connections without a request so far. Node counts them as busy, and browsers open some in advance. */
  listUnused(): Socket[];
  /**
   * Counts the connection as one of this client. Returns false when the client has too many and none of them can be closed. Connections
   * of trusted proxies are not counted, because they carry requests of many clients.
   */
  assign(socket: Socket, client: string): boolean;
  readonly size: number;
}

interface HttpConnection {
  address: string | undefined;
  client: string | undefined;
  progress: ConnectionProgress;
}

/**
 * Limits HTTP connections per address, per client and in total. A new connection above a limit replaces the oldest one of that address,
 * of that client, or of all, that is idle or makes no progress. If there is none, the new one is closed. An address at its limit can
 * therefore block neither other addresses nor its own next request.
 */
export function limitHttpConnections({ server, settings, getPeerAddress }: ConnectionLimitsOptions): HttpConnections {
  const connections = new Map<Socket, HttpConnection>();
  const addresses = new Map<string, Set<Socket>>();
  const clients = new Map<string, Set<Socket>>();

  function remove(socket: Socket): void {
    const connection = connections.get(socket);
    if (!connection) return;
    connections.delete(socket);
    removeFromGroup(addresses, connection.address, socket);
    removeFromGroup(clients, connection.client, socket);
  }

  /** A listener shared by all sockets, to save memory per WebSocket. */
  function removeThis(this: Socket): void {
    remove(this);
  }

  /** Closes the oldest connection that is idle or makes no progress; false when there is none. */
  function evict(candidates: Iterable<Socket>): boolean {
    const now = performance.now();
    for (const socket of candidates) {
      if (connections.get(socket)?.progress.isEvictable(now) === false) continue;
      remove(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  function hasRoom(siblings: ReadonlySet<Socket> | undefined): boolean {
    const { maxHttpConnections, maxHttpConnectionsPerAddress } = settings.current.gateway;
    if (siblings && siblings.size >= maxHttpConnectionsPerAddress && !evict(siblings)) return false;
    return connections.size < maxHttpConnections || evict(connections.keys());
  }

  server.on('connection', (socket) => {
    const address = getPeerAddress(socket);
    if (!hasRoom(address === undefined ? undefined : addresses.get(address))) {
      socket.destroy();
      return;
    }
    connections.set(socket, { address, client: undefined, progress: new ConnectionProgress() });
    if (address !== undefined) addToGroup(addresses, address, socket);
    socket.on('close', removeThis);
  });
  const getTcpSocket = trackTcpSockets(server);
  server.on('request', (request, response) => {
    connections.get(getTcpSocket(request.socket))?.progress.onRequest(request, response, performance.now());
  });
  server.on('upgrade', ({ socket }) => remove(getTcpSocket(socket)));

  const apply = (): void => {
    const { maxConnections, maxHttpConnections, requestTimeoutMs } = settings.current.gateway;
    server.requestTimeout = requestTimeoutMs;
    server.headersTimeout = Math.min(MAX_HEADERS_TIMEOUT_MS, requestTimeoutMs); // Node swaps the two when this one is longer
    server.maxConnections = maxConnections + maxHttpConnections + EXTRA_CONNECTIONS;
  };
  apply();
  const unwatch = settings.onChange(apply);

  const checks = setInterval(() => {
    const now = performance.now();
    for (const { progress } of connections.values()) progress.check(settings.current.gateway.stallTimeoutMs, now);
  }, CHECK_INTERVAL_MS).unref();

  return {
    listUnused: () => [...connections].filter(([, { progress }]) => progress.unused).map(([socket]) => socket),
    assign(socket, client) {
      const accepted = getTcpSocket(socket);
      const connection = connections.get(accepted);
      if (connection?.address === undefined || connection.client === client) return true;
      removeFromGroup(clients, connection.client, accepted);
      connection.client = undefined;
      const siblings = clients.get(client);
      if (siblings && siblings.size >= settings.current.gateway.maxHttpConnectionsPerToken && !evict(siblings)) return false;
      connection.client = client;
      addToGroup(clients, client, accepted);
      return true;
    },
    get size() {
      return connections.size;
    },
    [Symbol.dispose]: () => {
      unwatch();
      clearInterval(checks);
    },
  };
}

/**
 * Maps a TLS socket, which requests refer to, to its accepted TCP socket. Both have the same remote address and port, which are unique
 * per listener.
 */
function trackTcpSockets(server: Server): (socket: Socket) => Socket {
  const tcpSockets = new Map<string, Socket>();
  const byTlsSocket = new WeakMap<Socket, Socket>();
  const getRemoteKey = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  if (!(server instanceof TlsServer)) return (socket) => socket;
  const listener: Listener = server;
  listener.on('connection', (socket) => {
    const key = getRemoteKey(socket);
    tcpSockets.set(key, socket);
    socket.once('close', () => tcpSockets.get(key) === socket && tcpSockets.delete(key));
  });
  listener.on('secureConnection', (socket: Socket) => {
    const tcpSocket = tcpSockets.get(getRemoteKey(socket));
    if (tcpSocket) byTlsSocket.set(socket, tcpSocket);
  });
  return (socket) => byTlsSocket.get(socket) ?? socket;
}

function addToGroup(groups: Map<string, Set<Socket>>, key: string, socket: Socket): void {
  const siblings = groups.get(key);
  if (siblings) siblings.add(socket);
  else groups.set(key, new Set([socket]));
}

function removeFromGroup(groups: Map<string, Set<Socket>>, key: string | undefined, socket: Socket): void {
  if (key === undefined) return;
  const siblings = groups.get(key);
  siblings?.delete(socket);
  if (siblings?.size === 0) groups.delete(key);
}
