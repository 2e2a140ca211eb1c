import { ServiceError } from '@switchyard/contracts';
import { deriveId, randomBase62 } from '@switchyard/security';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { KeyHeader, LastEventHeader, LastEventQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { acceptsEvents, badRequest, RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';
import { createRenderer, type Renderer } from './chat-events.ts';
import { ChatBody, chatQuery, withIdempotencyKey } from './chat-request.ts';
import { type Query, getQueryText } from '../request/query.ts';
import { errorEventData, restError } from './rest-errors.ts';
import { logFailure } from '../request/failure-log.ts';
import { openEventStream } from '../events/sse.ts';
import { restartTurn, followTurn, startTurn, type StartedTurn } from '../turns/turn-start.ts';
import { UNAVAILABLE_CODES, hasEnded, type TurnReader } from '../turns/turn-reader.ts';

const RETRY_MS = 3_000;
/** The position of a client without events. */
const NOTHING = -1;
/** Prefix of the first event id, which is sent before the turn is accepted. A nonce follows. */
const ASKED = 'asked-';
const NONCE_DIGITS = 22;
/** It was not. */
const REFUSED = 'refused';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  tokenInQuery: true,
  summary: 'Runs a turn of an agent, as server-sent events while it runs.',
  description: 'Events are `token`, `resumed`, `done` and `error`. Whoever comes back with the id of an event gets the rest of that turn.',
  query: ChatBody.extend(LastEventQuery.shape),
  example: { query: { message: 'hello' } },
  headers: KeyHeader.extend(LastEventHeader.shape),
  answers: {
    200: { description: 'The turn.', type: 'text/event-stream' },
    204: { description: 'Of the turn that the client comes back for there is no rest: EventSource stops.' },
  },
  refusals: [409, 422],
};

/**
 * `GET /api/chat/stream`: one durable turn as server-sent events. An EventSource reconnects after a broken connection and after a
 * normal end, so a request with an event id gets the rest of that turn and never starts another one; 204, which stops an EventSource,
 * when there is no rest or the turn is unknown. The id of the turn is sent before the turn is requested, so that every reconnect finds
 * it.
 */
export function registerChatStream(app: FastifyInstance, edge: Edge): void {
  app.get('/api/chat/stream', edge.route(DOC), async (request, reply) => {
    refusePrefetch(request);
    const seen = lastSeen(request, request.query as Query);
    if (seen === undefined || isOwn(request, seen)) await ask(edge, { request, reply }, seen);
    else {
      const turn = typeof seen.at === 'number' ? await resume(edge, request, seen.turnId, seen.at) : undefined;
      if (!turn) return reply.code(204).header('cache-control', 'no-store').send();
      send(edge, { request, reply }, seen).follow(turn);
    }
    return reply;
  });
}

/** The nonce of an id is known to its client only, so no client can request a turn under the id of another. */
function isOwn({ caller }: FastifyRequest, { turnId, at }: Seen): boolean {
  return typeof at === 'string' && at.startsWith(ASKED) && turnId === askedId(caller, at.slice(ASKED.length));
}

function askedId({ principal: { tenant, client } }: Caller, nonce: string): string {
  return deriveId('turn', tenant, client, nonce);
}

/** A page that is only guessed to be wanted must not run a turn. */
function refusePrefetch({ headers }: FastifyRequest): void {
  const purpose = headers['sec-purpose'] ?? headers['purpose'];
  if (typeof purpose !== 'string' || !/^\s*prefetch\b/i.test(purpose)) return;
  throw new RefusalError({ status: 403, message: 'Forbidden: a turn is not prefetched', code: 'PERMISSION_DENIED' });
}

/** The last event that a client has: its number, or what there is before the first. */
interface Seen {
  turnId: string;
  at: number | string;
}

const EVENT_ID = /^(turn_[0-9A-Za-z]{22}):(\d{1,9}|refused|asked-[0-9A-Za-z]{22})$/;

/** From its header or the twin in the query for clients that cannot set one. */
function lastSeen({ headers }: FastifyRequest, query: Query): Seen | undefined {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : getQueryText(query, 'lastEventId');
  if (text === undefined) return undefined;
  const [, turnId, at] = EVENT_ID.exec(text) ?? [];
  if (turnId === undefined || at === undefined) throw badRequest('Invalid Last-Event-ID: expected <turnId>:<n>');
  return { turnId, at: /^\d/.test(at) ? Number(at) : at };
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

/**
 * Starts a turn, or repeats the request for an id that the client has. Clients that do not read events get a rejection as the HTTP
 * status.
 */
async function ask(edge: Edge, exchange: Exchange, seen: Seen | undefined): Promise<void> {
  const { request, reply } = exchange;
  const chat = withIdempotencyKey(chatQuery(request.query as Query), request);
  const asked = seen ?? newTurn(request.caller);
  const { turnId } = asked;
  const begin = (): Promise<StartedTurn> =>
    (seen === undefined ? startTurn : restartTurn)(edge.bus.as(request.caller.principal), { ...chat, turnId }, createCallOptions(request));
  if (acceptsEvents(request.headers)) {
    const sending = send(edge, exchange, asked);
    if (!reply.raw.destroyed) begin().then(sending.follow, sending.refuse);
    return;
  }
  const turn = await begin().catch((error: unknown) => {
    throw restError(error);
  });
  const headers: Record<string, string> = turn.earlier ? { 'idempotency-replayed': 'true' } : {};
  send(edge, exchange, { turnId: turn.turnId, at: NOTHING, headers }).follow(turn);
}

function newTurn(caller: Caller): Seen {
  const nonce = randomBase62(NONCE_DIGITS);
  return { turnId: askedId(caller, nonce), at: ASKED + nonce };
}

/** The turn the client comes back for; undefined when there is nothing left of it to send. */
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

interface Place extends Seen {
  headers?: Record<string, string>;
}

interface Sending {
  readonly follow: (turn: StartedTurn) => void;
  /** The turn was not accepted, or nobody says whether it was: then the client is to come back. */
  readonly refuse: (error: unknown) => void;
}

/** Begins the answer, at the place where the client is. */
function send(edge: Edge, { request, reply }: Exchange, { turnId, at, headers = {} }: Place): Sending {
  const after = typeof at === 'number' ? at : NOTHING;
  let reader: TurnReader | undefined;
  let renderer: Renderer | undefined;
  const leave = (): void => stream.end(); // a gateway that drains: the client comes back elsewhere for the rest
  const stream = openEventStream(reply, {
    first: `retry: ${RETRY_MS}\nid: ${turnId}:${typeof at === 'number' ? Math.max(at, 0) : at}\n\n`,
    headers,
    admitted: () => edge.tokens.mayStream(request.caller),
    onDrain: () => renderer?.drained(),
    onClose() {
      reader?.close();
      edge.closing.removeEventListener('abort', leave);
    },
  });
  const fail = (error: ServiceError): Record<string, unknown> => {
    logFailure(edge, request, error);
    return errorEventData(error, request.id);
  };
  if (!reply.raw.destroyed) edge.closing.addEventListener('abort', leave);
  return {
    follow(turn) {
      if (reply.raw.destroyed) return turn.reader.close();
      reader = turn.reader;
      renderer = createRenderer(stream, { turnId: turn.turnId, after, fail });
      if (edge.closing.aborted) leave();
      else reader.read(renderer, turn.earlier);
    },
    refuse(thrown) {
      const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
      const said = fail(error);
      if (UNAVAILABLE_CODES.has(error.code)) leave();
      else stream.end(`id: ${turnId}:${REFUSED}\nevent: error\ndata: ${JSON.stringify(said)}\n\n`);
    },
  };
}
