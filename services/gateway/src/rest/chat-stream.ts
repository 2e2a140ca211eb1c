import { ServiceError } from '@switchyard/contracts';
import { deriveId, randomBase62 } from '@switchyard/security';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { KeyHeader, LastEventHeader, LastEventQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { acceptsEvents, RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { createRenderer, type Renderer } from './chat-events.ts';
import { ChatBody, parseChatQuery, withIdempotencyKey } from './chat-request.ts';
import { type Query, getQueryText } from '../request/query.ts';
import { createErrorEventData, toRestError } from './rest-errors.ts';
import { logFailure } from '../request/failure-log.ts';
import { openEventStream } from '../events/sse.ts';
import { restartTurn, followTurn, startTurn, type StartedTurn } from '../turns/turn-start.ts';
import { UNAVAILABLE_CODES, hasEnded, type TurnReader } from '../turns/turn-reader.ts';

const RETRY_MS = 3_000;
/** The position of a client without events. */
const NO_EVENTS = -1;
/** Prefix of the first event id, which is sent before the turn is accepted. A nonce follows. */
const PENDING_PREFIX = 'asked-';
const NONCE_DIGITS = 22;
/** The event id of a rejected turn. */
const REFUSED = 'refused';
/** The event id after a reset. It belongs to no turn, so the next request gets 204. */
const RESET_POSITION = `turn_${'0'.repeat(NONCE_DIGITS)}:${REFUSED}`;

const DOC: RouteDoc = {
  scopes: ['rpc'],
  tokenInQuery: true,
  summary: 'Runs a turn of an agent and streams it as server-sent events.',
  description:
    'Events are `token`, `resumed`, `done` and `error`. A request with the id of an event receives the rest of that turn; `stream:reset` answers an id that is of no turn.',
  query: ChatBody.extend(LastEventQuery.shape),
  example: { query: { message: 'hello' } },
  headers: KeyHeader.extend(LastEventHeader.shape),
  responses: {
    200: { description: 'The events of the turn.', type: 'text/event-stream' },
    204: { description: 'The turn has no further events, and EventSource stops reconnecting.' },
  },
  refusals: [409, 422],
};

/**
 * `GET /api/chat/stream`: one durable turn as server-sent events. An EventSource reconnects after a broken connection and after a normal
 * end, so a request with an event id gets the rest of that turn and never starts another one. It gets 204, which stops an EventSource, when
 * there is no rest or the turn is unknown. The id of the turn is sent before the turn is requested, so that every reconnect finds it.
 */
export function registerChatStream(app: FastifyInstance, edge: Edge): void {
  app.get('/api/chat/stream', edge.route(DOC), async (request, reply) => {
    refusePrefetch(request);
    const position = parseLastEventId(request, request.query as Query);
    if (position === 'unknown') sendReset(reply);
    else if (position === undefined || isOwnPendingTurn(request, position)) await requestTurn(edge, { request, reply }, position);
    else {
      const turn = typeof position.lastEvent === 'number' ? await resume(edge, request, position.turnId, position.lastEvent) : undefined;
      if (!turn) return reply.code(204).header('cache-control', 'no-store').send();
      openTurnStream(edge, { request, reply }, position).follow(turn);
    }
    return reply;
  });
}

/** The nonce of an id is known to its client only, so no client can request a turn under the id of another. */
function isOwnPendingTurn({ caller }: FastifyRequest, { turnId, lastEvent }: StreamPosition): boolean {
  return (
    typeof lastEvent === 'string' &&
    lastEvent.startsWith(PENDING_PREFIX) &&
    turnId === derivePendingTurnId(caller, lastEvent.slice(PENDING_PREFIX.length))
  );
}

function derivePendingTurnId({ principal: { tenant, client } }: Caller, nonce: string): string {
  return deriveId('turn', tenant, client, nonce);
}

/** Rejects prefetches, so that a speculative page load does not run a turn. */
function refusePrefetch({ headers }: FastifyRequest): void {
  const purpose = headers['sec-purpose'] ?? headers['purpose'];
  if (typeof purpose !== 'string' || !/^\s*prefetch\b/i.test(purpose)) return;
  throw new RefusalError({ status: 403, message: 'Forbidden: turns cannot be prefetched', code: 'PERMISSION_DENIED' });
}

/** The last event that a client received: its number, or the id that was sent before the first event. */
interface StreamPosition {
  turnId: string;
  lastEvent: number | string;
}

const EVENT_ID = /^(turn_[0-9A-Za-z]{22}):(\d{1,9}|refused|asked-[0-9A-Za-z]{22})$/;

/** Reads the header `Last-Event-ID`, or `lastEventId` from the query for clients that cannot set headers. */
function parseLastEventId({ headers }: FastifyRequest, query: Query): StreamPosition | 'unknown' | undefined {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : getQueryText(query, 'lastEventId');
  if (text === undefined) return undefined;
  const [, turnId, lastEvent] = EVENT_ID.exec(text) ?? [];
  if (turnId === undefined || lastEvent === undefined) return 'unknown';
  return { turnId, lastEvent: /^\d/.test(lastEvent) ? Number(lastEvent) : lastEvent };
}

/**
 * Tells a client that its event id is not of a turn here. An error status would end an EventSource without a reason, and a new turn might run
 * its message a second time.
 */
function sendReset(reply: FastifyReply): void {
  const data = { reason: 'UNKNOWN_ID' };
  openEventStream(reply, {
    first: `retry: ${RETRY_MS}\nid: ${RESET_POSITION}\nevent: stream:reset\ndata: ${JSON.stringify(data)}\n\n`,
    isAuthorized: () => true,
    onDrain: () => undefined,
    onClose: () => undefined,
  }).end();
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

/**
 * Starts a turn, or repeats the request of an id that the client received. A client that does not accept events gets a rejection as an HTTP
 * status.
 */
async function requestTurn(edge: Edge, exchange: Exchange, position: StreamPosition | undefined): Promise<void> {
  const { request, reply } = exchange;
  const chat = withIdempotencyKey(parseChatQuery(request.query as Query), request);
  const start = position ?? createPendingPosition(request.caller);
  const { turnId } = start;
  const begin = (): Promise<StartedTurn> =>
    (position === undefined ? startTurn : restartTurn)(
      edge.bus.as(request.caller.principal),
      { ...chat, turnId },
      createCallOptions(request),
    );
  if (acceptsEvents(request.headers)) {
    const sender = openTurnStream(edge, exchange, start);
    if (!reply.raw.destroyed) begin().then(sender.follow, sender.refuse);
    return;
  }
  const turn = await begin().catch((error: unknown) => {
    throw toRestError(error);
  });
  const headers: Record<string, string> = turn.earlier ? { 'idempotency-replayed': 'true' } : {};
  openTurnStream(edge, exchange, { turnId: turn.turnId, lastEvent: NO_EVENTS, headers }).follow(turn);
}

function createPendingPosition(caller: Caller): StreamPosition {
  const nonce = randomBase62(NONCE_DIGITS);
  return { turnId: derivePendingTurnId(caller, nonce), lastEvent: PENDING_PREFIX + nonce };
}

/** Continues the turn of a client that reconnects; undefined when no events are left. */
async function resume(edge: Edge, request: FastifyRequest, turnId: string, n: number): Promise<StartedTurn | undefined> {
  try {
    const turn = await followTurn(edge.bus.as(request.caller.principal), turnId, createCallOptions(request));
    const { earlier, reader } = turn;
    if (!hasEnded(earlier) || earlier.lastFrame === undefined || n < earlier.lastFrame) return turn;
    reader.close();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

interface OpenTurnStreamOptions extends StreamPosition {
  headers?: Record<string, string>;
}

interface TurnSender {
  readonly follow: (turn: StartedTurn) => void;
  /** Reports a rejected turn. While the outcome is unknown the stream ends without an error, so that the client reconnects. */
  readonly refuse: (error: unknown) => void;
}

/** Opens the event stream after the last event of the client. */
function openTurnStream(edge: Edge, { request, reply }: Exchange, { turnId, lastEvent, headers = {} }: OpenTurnStreamOptions): TurnSender {
  const after = typeof lastEvent === 'number' ? lastEvent : NO_EVENTS;
  let reader: TurnReader | undefined;
  let renderer: Renderer | undefined;
  const endForDrain = (): void => stream.end(); // while draining: the client reconnects to another gateway for the rest
  const stream = openEventStream(reply, {
    first: `retry: ${RETRY_MS}\nid: ${turnId}:${typeof lastEvent === 'number' ? Math.max(lastEvent, 0) : lastEvent}\n\n`,
    headers,
    isAuthorized: () => edge.tokens.mayStream(request.caller),
    onDrain: () => renderer?.drained(),
    onClose() {
      reader?.close();
      edge.closing.removeEventListener('abort', endForDrain);
    },
  });
  const fail = (error: ServiceError): Record<string, unknown> => {
    logFailure(edge, request, error);
    return createErrorEventData(error, request.id);
  };
  if (!reply.raw.destroyed) edge.closing.addEventListener('abort', endForDrain);
  return {
    follow(turn) {
      if (reply.raw.destroyed) return turn.reader.close();
      reader = turn.reader;
      renderer = createRenderer(stream, { turnId: turn.turnId, after, fail });
      if (edge.closing.aborted) endForDrain();
      else reader.read(renderer, turn.earlier);
    },
    refuse(thrown) {
      const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
      const data = fail(error);
      if (UNAVAILABLE_CODES.has(error.code)) endForDrain();
      else stream.end(`id: ${turnId}:${REFUSED}\nevent: error\ndata: ${JSON.stringify(data)}\n\n`);
    },
  };
}
