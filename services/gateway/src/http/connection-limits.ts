import type { Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Server as Listener, Socket } from 'node:net';
import type { Settings } from '@switchyard/service-kit';

/** The listener accepts this many beyond all caps: a new socket must be accepted before an idle one can be closed for it. */
const HEADROOM = 64;

export interface PlainSocketsOptions {
  server: Server;
  settings: Settings<'gateway'>;
  /** The address behind a socket; undefined for a proxy of ours, behind which there are many. */
  addressOf: (socket: Socket) => string | undefined;
}

/** The sockets that are no WebSockets. */
export interface PlainSockets extends Disposable {
  /** Sockets without a request so far. Node counts them as busy, and browsers open some in advance. */
  silent(): Socket[];
  readonly size: number;
}

interface Plain {
  address: string | undefined;
  /** To the last request; undefined before the first. */
  response: ServerResponse | undefined;
}

/**
 * Caps plain sockets for each address and overall. Whoever comes when there are too many takes the place of one that has nothing
 * under way, of its own address if that is full; where none is idle, the newcomer is not served. So an address that holds all it
 * can get keeps nobody else out, and not even its own next request.
 */
export function followPlainSockets({ server, settings, addressOf }: PlainSocketsOptions): PlainSockets {
  const all = new Map<Socket, Plain>();
  const addresses = new Map<string, Set<Socket>>();

  function forget(socket: Socket): void {
    const plain = all.get(socket);
    if (!plain) return;
    all.delete(socket);
    if (plain.address === undefined) return;
    const siblings = addresses.get(plain.address);
    siblings?.delete(socket);
    if (siblings?.size === 0) addresses.delete(plain.address);
  }

  /** One for all sockets, also for those that become WebSockets and stay. */
  function forgetThis(this: Socket): void {
    forget(this);
  }

  /** Ends the oldest of them that has nothing under way. */
  function makeRoom(among: Iterable<Socket>): boolean {
    for (const socket of among) {
      if (!isIdle(all.get(socket))) continue;
      forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  function hasRoom(siblings: ReadonlySet<Socket> | undefined): boolean {
    const { maxHttpConnections, maxHttpConnectionsPerAddress } = settings.current.gateway;
    if (siblings && siblings.size >= maxHttpConnectionsPerAddress && !makeRoom(siblings)) return false;
    return all.size < maxHttpConnections || makeRoom(all.keys());
  }

  server.on('connection', (socket) => {
    const address = addressOf(socket);
    if (!hasRoom(address === undefined ? undefined : addresses.get(address))) {
      socket.destroy();
      return;
    }
    all.set(socket, { address, response: undefined });
    if (address !== undefined) join(addresses, address, socket);
    socket.on('close', forgetThis);
  });
  const carrierOf = followCarriers(server);
  server.on('request', ({ socket }, response) => {
    const plain = all.get(carrierOf(socket));
    if (plain) plain.response = response;
  });
  server.on('upgrade', ({ socket }) => forget(carrierOf(socket)));

  const apply = (): void => {
    const { maxConnections, maxHttpConnections } = settings.current.gateway;
    server.maxConnections = maxConnections + maxHttpConnections + HEADROOM;
  };
  apply();
  const unwatch = settings.onChange(apply);
  return {
    silent: () => [...all].filter(([, { response }]) => response === undefined).map(([socket]) => socket),
    get size() {
      return all.size;
    },
    [Symbol.dispose]: unwatch,
  };
}

/**
 * The socket that was accepted, for one that speaks TLS over it and stands in the requests. Both have the same other end, which no two
 * sockets of a listener share.
 */
function followCarriers(server: Server): (socket: Socket) => Socket {
  const unspoken = new Map<string, Socket>();
  const carriers = new WeakMap<Socket, Socket>();
  const otherEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  if (!(server instanceof TlsServer)) return (socket) => socket;
  const listener: Listener = server;
  listener.on('connection', (socket) => {
    const key = otherEnd(socket);
    unspoken.set(key, socket);
    socket.once('close', () => unspoken.get(key) === socket && unspoken.delete(key));
  });
  listener.on('secureConnection', (socket: Socket) => {
    const carrier = unspoken.get(otherEnd(socket));
    if (carrier) carriers.set(socket, carrier);
  });
  return (socket) => carriers.get(socket) ?? socket;
}

function join(addresses: Map<string, Set<Socket>>, address: string, socket: Socket): void {
  const siblings = addresses.get(address);
  if (siblings) siblings.add(socket);
  else addresses.set(address, new Set([socket]));
}

function isIdle(plain: Plain | undefined): boolean {
  return plain?.response === undefined || plain.response.writableFinished || plain.response.destroyed;
}
