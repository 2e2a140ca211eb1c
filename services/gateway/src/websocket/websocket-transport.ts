import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Rate } from '@switchyard/cache';
import { mintId } from '@switchyard/security';
import { LRUCache } from 'lru-cache';
import { WebSocket, WebSocketServer, type RawData, type ServerOptions } from 'ws';
import { faultAnswer, type Fault } from '../rpc/json-rpc-responses.ts';
import type { Answer } from '../http/payload.ts';
import { UNAUTHORIZED } from './token-expiry.ts';
import type { Connection, Connections } from './connections.ts';
import type { Dispatcher } from '../rpc/dispatcher.ts';
import type { Edge } from '../http/edge.ts';
import { NULL_ID, PARSE_ERROR, type Envelope } from '../rpc/envelope.ts';
import { rates } from '../auth/rate-limits.ts';
import { isRefusal, messageLimit, type Admission } from '../auth/admission.ts';
import type { Cancel, Origin } from '../rpc/call-context.ts';
import { controlFrame, frameBytes, framesDone } from './incomplete-frames.ts';
import { hideQueryToken } from '../auth/query-token.ts';
import { NOT_FOUND, rateLimited, retryAfterSeconds, UNVOUCHED, type Refusal } from '../request/refusal.ts';
import { requestIdOf } from '../request/request-id.ts';
import type { Caller } from '../request/caller.ts';
import { traceparentOf } from '../request/trace.ts';

const ROUTE = 'GET /ws';
const POLICY_VIOLATION = 1008;
/** After this many refused messages the connection is closed. */
const MAX_REJECTED = 1_000;

const BINARY: Fault = { ...PARSE_ERROR, message: 'Binary messages not supported' };

const SHUTTING_DOWN: Refusal = { status: 503, message: 'Server shutting down', code: 'UNAVAILABLE' };
const FULL: Refusal = { status: 503, message: 'Too many connections', code: 'UNAVAILABLE' };

/** Bounds on what a peer may make us hold: fragments, chunks, pongs. */
const PROTOCOL: ServerOptions & { maxPendingAutoPongs: number } = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  skipUTF8Validation: false,
  maxFragments: 64,
  maxBufferedChunks: 1_024,
  maxPendingAutoPongs: 16,
};

/** Servers of `ws`, one for each `maxPayload` in use; changes of the setting leave old ones behind. */
const MAX_SERVERS = 8;

export interface RpcWsOptions {
  edge: Edge;
  admission: Admission;
  dispatcher: Dispatcher;
  connections: Connections;
}

/** JSON-RPC over `GET /ws`. */
export function acceptWebSockets(server: Server, { edge, admission, dispatcher, connections }: RpcWsOptions): void {
  const { settings, tokens, log, failures } = edge;
  const { messages } = edge.limits;
  const servers = new LRUCache<number, ReturnType<typeof createServer>>({ max: MAX_SERVERS, memoMethod: createServer });
  /** What every socket has stands here once: what is made for each is held by each, and so is all that it can see. */
  const broke = (error: Error): void => log.debug({ err: error }, 'a connection broke');
  const byStream = new WeakMap<Duplex, Connection>();
  const onBytes = function (this: Duplex, { length }: Buffer): void {
    const connection = byStream.get(this);
    if (connection) frameBytes(connection, length, connection.largest);
  };
  const onDrain = function (this: Duplex): void {
    const connection = byStream.get(this);
    if (connection) connections.regulate(connection);
  };
  const listeners = {
    message: heard((connection, data: RawData, isBinary: boolean) => {
      framesDone(connection);
      receive(connection, data, isBinary);
    }),
    ping: heard(controlFrame),
    pong: heard((connection, data: Buffer) => {
      controlFrame(connection, data);
      connection.unansweredPings = 0;
    }),
    close: heard((connection) => connections.remove(connection)),
    error: heard(({ caller }, error: Error) => log.debug({ err: error, tokenId: caller.tokenId }, 'a WebSocket failed')),
  };

  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    hideQueryToken(request);
    stream.on('error', broke);
    const path = request.url?.split('?', 1)[0];
    if (path !== '/ws') return refuseUpgrade(stream, noted(request, NOT_FOUND));
    const spending = admission.spend(request);
    if (spending) void spending.then(() => upgrade(request, stream, head));
    else upgrade(request, stream, head);
  });

  function upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const outcome = admit(request);
    if (isRefusal(outcome) && outcome.status !== 401) return refuseUpgrade(stream, noted(request, outcome));
    servers.memo(largestPayload(isRefusal(outcome) ? undefined : outcome)).handleUpgrade(request, stream, head, (socket) => {
      if (isRefusal(outcome)) return turnAway(socket);
      open(socket, { stream, request, caller: outcome });
    });
  }

  function noted(request: IncomingMessage, refusal: Refusal): Refusal & { requestId: string } {
    const { status, code, message, caller } = refusal;
    const requestId = requestIdOf(request);
    failures.note({ requestId, route: ROUTE, status, code, message, caller, address: admission.addressOf(request) });
    return { ...refusal, requestId };
  }

  /** A character is at most four bytes: what is too long in characters still arrives and is answered. */
  function largestPayload(caller?: Caller): number {
    return (caller ? messageLimit(caller, settings.current.gateway.wsMaxMessageBytes) : 0) * 4 + 1_024;
  }

  function admit(request: IncomingMessage): Caller | Refusal {
    if (edge.closing.aborted) return SHUTTING_DOWN;
    const foreign = admission.screen(request);
    if (foreign) return foreign;
    const caller = admission.identify(request, true);
    if (isRefusal(caller)) return caller;
    const { maxConnections, maxConnectionsPerAddress, maxConnectionsPerToken } = settings.current.gateway;
    if (connections.all.size >= maxConnections) return FULL;
    const ofToken = connections.byClient(caller)?.size ?? 0;
    const full = ofToken >= maxConnectionsPerToken || connections.ofAddress(admission.addressOf(request)) >= maxConnectionsPerAddress;
    if (full) return { ...rateLimited(1_000), message: 'Too many connections', caller };
    const refused = admission.limit(caller.key);
    return refused ? { ...refused, caller } : caller;
  }

  function open(socket: ConnectedSocket, { stream, request, caller }: Opened): void {
    const [address, traceparent] = [admission.addressOf(request), traceparentOf(request)];
    const connection = connections.add({ socket, stream, largest: largestPayload(caller), caller, address, traceparent });
    socket.connection = connection;
    byStream.set(stream, connection);
    stream.prependListener('data', onBytes); // before `ws` reads the same bytes and reports a message
    stream.on('drain', onDrain);
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  }

  /** The order of checks is part of the interface: token, binary, rate, size, then what the message says. */
  function receive(connection: Connection, data: RawData, isBinary: boolean): void {
    const { socket, caller } = connection;
    if (tokens.ended(caller)) return socket.close(UNAUTHORIZED, 'Unauthorized');
    if (isBinary || !Buffer.isBuffer(data)) return reject(connection, BINARY);
    const wait = messages.take(caller.key, rate());
    if (wait > 0) return reject(connection, overRate(wait));
    const largest = messageLimit(caller, settings.current.gateway.wsMaxMessageBytes);
    if (data.length > largest) {
      const size = data.toString().length;
      if (size > largest) return reject(connection, tooLarge(size, largest));
    }
    const envelope = dispatcher.read(data);
    const more = Array.isArray(envelope) ? messages.takeRest(caller.key, rate(), envelope.length) : 0;
    if (more > 0) reject(connection, overRate(more));
    else if (tokens.sound()) run(connection, envelope);
    else putOff(connection, envelope);
  }

  function rate(): Rate {
    return rates.messages(settings.current.gateway);
  }

  /** As on HTTP: not let in, and not told that the token is bad. */
  function putOff(connection: Connection, envelope: Envelope): void {
    const { code, message: text, retryAfterMs = 0 } = UNVOUCHED;
    const answer = dispatcher.refuse(envelope, { number: -32603, code, message: text, retryAfterMs }, originOf(connection));
    if (answer) connections.send(connection, answer);
  }

  function run(connection: Connection, envelope: Envelope): void {
    const from = originOf(connection);
    from.notify = (notification) => notify(connection, notification);
    let cancel: Cancel | undefined;
    let answered = false;
    cancel = dispatcher.run(envelope, from, (answer) => {
      answered = true;
      if (cancel) connection.pending?.delete(cancel);
      if (answer) connections.send(connection, answer);
      else connections.regulate(connection);
    });
    if (answered) return;
    connection.pending ??= new Set();
    connection.pending.add(cancel);
    connections.regulate(connection);
  }

  function notify(connection: Connection, notification: Answer): void {
    if (tokens.ended(connection.caller)) connection.socket.close(UNAUTHORIZED, 'Unauthorized');
    else connections.send(connection, notification);
  }

  function reject(connection: Connection, fault: Fault): void {
    if (++connection.rejected > MAX_REJECTED) return connection.socket.close(POLICY_VIOLATION, 'Message rate limit exceeded');
    const { requestId, caller } = originOf(connection);
    const { code, reason, message: text } = fault;
    failures.note({ requestId, route: ROUTE, code, reason, message: text, caller });
    connections.send(connection, faultAnswer(fault, requestId, NULL_ID));
  }
}

interface Opened {
  stream: Duplex;
  request: IncomingMessage;
  caller: Caller;
}

/** A WebSocket that knows its connection: its listeners are the same as those of all others. */
class ConnectedSocket extends WebSocket {
  connection: Connection | undefined;
}

function createServer(maxPayload: number) {
  return new WebSocketServer<typeof ConnectedSocket>({ ...PROTOCOL, WebSocket: ConnectedSocket, maxPayload });
}

/** A listener of a socket, for what is done with its connection. */
function heard<A extends unknown[]>(then: (connection: Connection, ...said: A) => void): (this: WebSocket, ...said: A) => void {
  return function (...said) {
    if (this instanceof ConnectedSocket && this.connection) then(this.connection, ...said);
  };
}

/** A new request of a connection. */
function originOf({ caller, traceparent }: Connection): Origin {
  return { caller, requestId: mintId('req'), route: ROUTE, traceparent };
}

/** A message with more calls than the limit can never be accepted, so it is not retryable. */
function overRate(wait: number): Fault {
  const fault: Fault = { number: -32000, code: 'RESOURCE_EXHAUSTED', message: 'Message rate limit exceeded' };
  return wait === Number.POSITIVE_INFINITY ? { ...fault, retryable: false } : { ...fault, retryAfterMs: wait };
}

function tooLarge(size: number, maximum: number): Fault {
  return { number: -32600, code: 'OUT_OF_RANGE', message: `Message too large: ${size} characters, maximum ${maximum}` };
}

/** Nothing it sends is listened to. */
function turnAway(socket: WebSocket): void {
  socket.on('error', () => socket.terminate());
  socket.close(UNAUTHORIZED, 'Unauthorized');
}

function refuseUpgrade(stream: Duplex, { status, message, retryAfterMs, requestId }: Refusal & { requestId: string }): void {
  const body = JSON.stringify({ error: message });
  const lines = [
    `HTTP/1.1 ${status} ${message}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    `x-request-id: ${requestId}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...(retryAfterMs === undefined ? [] : [`retry-after: ${retryAfterSeconds(retryAfterMs)}`]),
  ];
  stream.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}
