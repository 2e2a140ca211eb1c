import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Rate } from '@switchyard/cache';
import { mintId } from '@switchyard/security';
import { LRUCache } from 'lru-cache';
import { WebSocket, WebSocketServer, type RawData, type ServerOptions } from 'ws';
import { encodeFault, type Fault } from '../rpc/json-rpc-responses.ts';
import type { Payload } from '../http/payload.ts';
import { CLOSE_UNAUTHORIZED } from './connection-closing.ts';
import type { Connection, Connections } from './connections.ts';
import type { StalledSockets } from './stalled-sockets.ts';
import type { Dispatcher } from '../rpc/dispatcher.ts';
import type { Edge } from '../http/edge.ts';
import { NULL_ID, PARSE_ERROR, type Envelope } from '../rpc/envelope.ts';
import { rates } from '../auth/rate-limits.ts';
import { isRefusal, getMaxMessageBytes, type Admission } from '../auth/admission.ts';
import type { Cancel, CallOrigin } from '../rpc/call-context.ts';
import { releaseControlFrame, addFrameBytes, releaseFrameBytes } from './incomplete-frames.ts';
import { hideQueryToken } from '../auth/query-token.ts';
import { hasConflictingAuthority } from '../auth/request-authority.ts';
import {
  CONFLICTING_HOST,
  NOT_FOUND,
  createRateLimitRefusal,
  toRetryAfterSeconds,
  TOKENS_UNVERIFIABLE,
  type Refusal,
} from '../request/refusal.ts';
import { getRequestId } from '../request/request-id.ts';
import type { Caller } from '../request/caller.ts';
import { getTraceparent } from '../request/trace.ts';

const ROUTE = 'GET /ws';
const CLOSE_POLICY_VIOLATION = 1008;
/** Refused messages before the connection is closed. */
const MAX_REJECTED_MESSAGES = 1_000;

const BINARY_NOT_SUPPORTED: Fault = { ...PARSE_ERROR, message: 'Binary messages not supported' };

const SHUTTING_DOWN: Refusal = { status: 503, message: 'Server shutting down', code: 'UNAVAILABLE' };
const TOO_MANY_CONNECTIONS: Refusal = { status: 503, message: 'Too many connections', code: 'UNAVAILABLE' };

/** Bounds the fragments, chunks and pongs that a peer can make the gateway buffer. */
const WEBSOCKET_OPTIONS: ServerOptions & { maxPendingAutoPongs: number } = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  skipUTF8Validation: false,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  maxPendingAutoPongs: 16,
};

/** WebSocket servers, one per `maxPayload` in use. A changed setting leaves unused ones behind. */
const MAX_SERVERS = 8;

export interface WebSocketTransportOptions {
  edge: Edge;
  admission: Admission;
  dispatcher: Dispatcher;
  connections: Connections;
  stalled: Pick<StalledSockets, 'evict'>;
}

/** JSON-RPC over `GET /ws`. */
export function acceptWebSockets(server: Server, { edge, admission, dispatcher, connections, stalled }: WebSocketTransportOptions): void {
  const { settings, tokens, log, failures } = edge;
  const { messages } = edge.limits;
  const servers = new LRUCache<number, ReturnType<typeof createServer>>({ max: MAX_SERVERS, memoMethod: createServer });
  // Listeners are created once and find their connection, because a closure per socket costs memory on ten thousand idle sockets.
  const onStreamError = (error: Error): void => log.debug({ err: error }, 'a WebSocket stream failed');
  const byStream = new WeakMap<Duplex, Connection>();
  const onBytes = function (this: Duplex, { length }: Buffer): void {
    const connection = byStream.get(this);
    if (connection) addFrameBytes(connection, length, connection.maxPayload);
  };
  const onDrain = function (this: Duplex): void {
    const connection = byStream.get(this);
    if (connection) connections.regulate(connection);
  };
  const listeners = {
    message: withConnection((connection, data: RawData, isBinary: boolean) => {
      releaseFrameBytes(connection);
      receive(connection, data, isBinary);
    }),
    ping: withConnection(releaseControlFrame),
    pong: withConnection((connection, data: Buffer) => {
      releaseControlFrame(connection, data);
      connection.unansweredPings = 0;
    }),
    close: withConnection((connection) => connections.remove(connection)),
    error: withConnection(({ caller }, error: Error) => log.debug({ err: error, tokenId: caller.tokenId }, 'a WebSocket failed')),
  };

  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    hideQueryToken(request);
    stream.on('error', onStreamError);
    const path = request.url?.split('?', 1)[0];
    if (hasConflictingAuthority(request)) return refuseUpgrade(stream, logRefusal(request, CONFLICTING_HOST));
    if (path !== '/ws') return refuseUpgrade(stream, logRefusal(request, NOT_FOUND));
    const redemption = admission.redeemTicket(request);
    if (redemption) void redemption.then(() => upgrade(request, stream, head));
    else upgrade(request, stream, head);
  });

  function upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const outcome = admit(request);
    if (isRefusal(outcome) && outcome.status !== 401) return refuseUpgrade(stream, logRefusal(request, outcome));
    servers.memo(getMaxPayload(isRefusal(outcome) ? undefined : outcome)).handleUpgrade(request, stream, head, (socket) => {
      if (isRefusal(outcome)) return closeUnauthorized(socket);
      open(socket, { stream, request, caller: outcome });
    });
  }

  function logRefusal(request: IncomingMessage, refusal: Refusal): Refusal & { requestId: string } {
    const { status, code, message, caller } = refusal;
    const requestId = getRequestId(request);
    failures.log({ requestId, route: ROUTE, status, code, message, caller, address: admission.getClientAddress(request) });
    return { ...refusal, requestId };
  }

  /** Limits are in characters of up to four bytes, so that a message above the limit still arrives and gets an error. */
  function getMaxPayload(caller?: Caller): number {
    return (caller ? getMaxMessageBytes(caller, settings.current.gateway.wsMaxMessageBytes) : 0) * 4 + 1_024;
  }

  function admit(request: IncomingMessage): Caller | Refusal {
    if (edge.closing.aborted) return SHUTTING_DOWN;
    const hostRefusal = admission.checkHostAndOrigin(request);
    if (hostRefusal) return hostRefusal;
    const caller = admission.authenticate(request, true);
    if (isRefusal(caller)) return caller;
    const { maxConnections, maxConnectionsPerAddress, maxConnectionsPerToken } = settings.current.gateway;
    // A connection whose client does not read gives its place to a new one.
    if (connections.all.size >= maxConnections && !stalled.evict(() => true)) return TOO_MANY_CONNECTIONS;
    const address = admission.getClientAddress(request);
    const isTokenFull =
      (connections.byClient(caller)?.size ?? 0) >= maxConnectionsPerToken && !stalled.evict((other) => other.caller.key === caller.key);
    const isAddressFull =
      connections.countByAddress(address) >= maxConnectionsPerAddress && !stalled.evict((other) => other.address === address);
    if (isTokenFull || isAddressFull) return { ...createRateLimitRefusal(1_000), message: 'Too many connections', caller };
    const refused = admission.limitRequest(caller.key);
    return refused ? { ...refused, caller } : caller;
  }

  function open(socket: ConnectedSocket, { stream, request, caller }: OpenedSocket): void {
    const [address, traceparent] = [admission.getClientAddress(request), getTraceparent(request)];
    const connection = connections.add({ socket, stream, maxPayload: getMaxPayload(caller), caller, address, traceparent });
    socket.connection = connection;
    byStream.set(stream, connection);
    stream.prependListener('data', onBytes); // counts the bytes before ws reports a message
    stream.on('drain', onDrain);
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  }

  /** The order of checks is part of the interface: token, binary, rate, size, content. */
  function receive(connection: Connection, data: RawData, isBinary: boolean): void {
    const { socket, caller } = connection;
    if (tokens.hasEnded(caller)) return socket.close(CLOSE_UNAUTHORIZED, 'Unauthorized');
    if (isBinary || !Buffer.isBuffer(data)) return reject(connection, BINARY_NOT_SUPPORTED);
    const wait = messages.take(caller.key, rate());
    if (wait > 0) return reject(connection, createRateFault(wait));
    const largest = getMaxMessageBytes(caller, settings.current.gateway.wsMaxMessageBytes);
    if (data.length > largest) {
      const size = data.toString().length;
      if (size > largest) return reject(connection, createSizeFault(size, largest));
    }
    const envelope = dispatcher.parse(data);
    const batchWait = Array.isArray(envelope) ? messages.takeRemaining(caller.key, rate(), envelope.length) : 0;
    if (batchWait > 0) reject(connection, createRateFault(batchWait));
    else if (tokens.areVerifiable()) run(connection, envelope);
    else rejectUnverifiable(connection, envelope);
  }

  function rate(): Rate {
    return rates.messages(settings.current.gateway);
  }

  /** Refuses a message while tokens cannot be verified, without closing the connection as for an invalid token. */
  function rejectUnverifiable(connection: Connection, envelope: Envelope): void {
    const { code, message: text, retryAfterMs = 0 } = TOKENS_UNVERIFIABLE;
    const answer = dispatcher.refuse(envelope, { number: -32603, code, message: text, retryAfterMs }, createOrigin(connection));
    if (answer) connections.send(connection, answer);
  }

  function run(connection: Connection, envelope: Envelope): void {
    const origin = createOrigin(connection);
    origin.notify = (notification) => notify(connection, notification);
    let cancel: Cancel | undefined;
    let isAnswered = false;
    cancel = dispatcher.run(envelope, origin, (answer) => {
      isAnswered = true;
      if (cancel) connection.pending?.delete(cancel);
      if (answer) connections.send(connection, answer);
      else connections.regulate(connection);
    });
    if (isAnswered) return;
    connection.pending ??= new Set();
    connection.pending.add(cancel);
    connections.regulate(connection);
  }

  function notify(connection: Connection, notification: Payload): void {
    if (tokens.hasEnded(connection.caller)) connection.socket.close(CLOSE_UNAUTHORIZED, 'Unauthorized');
    else connections.send(connection, notification);
  }

  function reject(connection: Connection, fault: Fault): void {
    if (++connection.rejected > MAX_REJECTED_MESSAGES)
      return connection.socket.close(CLOSE_POLICY_VIOLATION, 'Message rate limit exceeded');
    const { requestId, caller } = createOrigin(connection);
    const { code, reason, message: text } = fault;
    failures.log({ requestId, route: ROUTE, code, reason, message: text, caller });
    connections.send(connection, encodeFault(fault, requestId, NULL_ID));
  }
}

interface OpenedSocket {
  stream: Duplex;
  request: IncomingMessage;
  caller: Caller;
}

/** A WebSocket with its connection, for listeners shared by all sockets. */
class ConnectedSocket extends WebSocket {
  connection: Connection | undefined;
}

function createServer(maxPayload: number) {
  return new WebSocketServer<typeof ConnectedSocket>({ ...WEBSOCKET_OPTIONS, WebSocket: ConnectedSocket, maxPayload });
}

/** Creates a shared listener that passes the connection of its socket. */
function withConnection<A extends unknown[]>(handler: (connection: Connection, ...args: A) => void): (this: WebSocket, ...args: A) => void {
  return function (...args) {
    if (this instanceof ConnectedSocket && this.connection) handler(this.connection, ...args);
  };
}

/** Creates the origin of a new request. */
function createOrigin({ caller, traceparent }: Connection): CallOrigin {
  return { caller, requestId: mintId('req'), route: ROUTE, traceparent };
}

/** A batch with more calls than the limit is never accepted, so it is not retryable. */
function createRateFault(wait: number): Fault {
  const fault: Fault = { number: -32000, code: 'RESOURCE_EXHAUSTED', message: 'Message rate limit exceeded' };
  return wait === Number.POSITIVE_INFINITY ? { ...fault, retryable: false } : { ...fault, retryAfterMs: wait };
}

function createSizeFault(size: number, maximum: number): Fault {
  return { number: -32600, code: 'OUT_OF_RANGE', message: `Message too large: ${size} characters, maximum ${maximum}` };
}

/** Closes a socket without listening to its messages. */
function closeUnauthorized(socket: WebSocket): void {
  socket.on('error', () => socket.terminate());
  socket.close(CLOSE_UNAUTHORIZED, 'Unauthorized');
}

function refuseUpgrade(stream: Duplex, { status, message, retryAfterMs, requestId }: Refusal & { requestId: string }): void {
  const body = JSON.stringify({ error: message });
  const lines = [
    `HTTP/1.1 ${status} ${message}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    `x-request-id: ${requestId}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(retryAfterMs === undefined ? [] : [`retry-after: ${toRetryAfterSeconds(retryAfterMs)}`]),
  ];
  stream.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}
