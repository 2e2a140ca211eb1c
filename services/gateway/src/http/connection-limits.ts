import type { Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Server as Listener, Socket } from 'node:net';
import type { Settings } from '@switchyard/service-kit';

/** Connections accepted beyond the limits, because a new socket must be accepted before an idle one can be closed for it. */
const EXTRA_CONNECTIONS = 64;

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
  readonly size: number;
}

interface HttpConnection {
  address: string | undefined;
  /** The response to the last request; undefined before the first. */
  response: ServerResponse | undefined;
}

/**
 * Limits HTTP connections per address and in total. A new connection above a limit replaces the oldest idle one, of the same address if
 * the limit of the address is reached. Without an idle connection the new one is closed. An address at its limit can therefore block
 * neither other addresses nor its own next request.
 */
export function limitHttpConnections({ server, settings, getPeerAddress }: ConnectionLimitsOptions): HttpConnections {
  const connections = new Map<Socket, HttpConnection>();
  const addresses = new Map<string, Set<Socket>>();

  function remove(socket: Socket): void {
    const plain = connections.get(socket);
    if (!plain) return;
    connections.delete(socket);
    if (plain.address === undefined) return;
    const siblings = addresses.get(plain.address);
    siblings?.delete(socket);
    if (siblings?.size === 0) addresses.delete(plain.address);
  }

  /** A listener shared by all sockets, to save memory per WebSocket. */
  function removeThis(this: Socket): void {
    remove(this);
  }

  /** Closes the oldest idle connection; false when none is idle. */
  function evictIdle(candidates: Iterable<Socket>): boolean {
    for (const socket of candidates) {
      if (!isIdle(connections.get(socket))) continue;
      remove(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  function hasRoom(siblings: ReadonlySet<Socket> | undefined): boolean {
    const { maxHttpConnections, maxHttpConnectionsPerAddress } = settings.current.gateway;
    if (siblings && siblings.size >= maxHttpConnectionsPerAddress && !evictIdle(siblings)) return false;
    return connections.size < maxHttpConnections || evictIdle(connections.keys());
  }

  server.on('connection', (socket) => {
    const address = getPeerAddress(socket);
    if (!hasRoom(address === undefined ? undefined : addresses.get(address))) {
      socket.destroy();
      return;
    }
    connections.set(socket, { address, response: undefined });
    if (address !== undefined) addToGroup(addresses, address, socket);
    socket.on('close', removeThis);
  });
  const getTcpSocket = trackTcpSockets(server);
  server.on('request', ({ socket }, response) => {
    const plain = connections.get(getTcpSocket(socket));
    if (plain) plain.response = response;
  });
  server.on('upgrade', ({ socket }) => remove(getTcpSocket(socket)));

  const apply = (): void => {
    const { maxConnections, maxHttpConnections } = settings.current.gateway;
    server.maxConnections = maxConnections + maxHttpConnections + EXTRA_CONNECTIONS;
  };
  apply();
  const unwatch = settings.onChange(apply);
  return {
    listUnused: () => [...connections].filter(([, { response }]) => response === undefined).map(([socket]) => socket),
    get size() {
      return connections.size;
    },
    [Symbol.dispose]: unwatch,
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

function addToGroup(addresses: Map<string, Set<Socket>>, address: string, socket: Socket): void {
  const siblings = addresses.get(address);
  if (siblings) siblings.add(socket);
  else addresses.set(address, new Set([socket]));
}

function isIdle(plain: HttpConnection | undefined): boolean {
  return plain?.response === undefined || plain.response.writableFinished || plain.response.destroyed;
}
