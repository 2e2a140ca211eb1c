import { ServiceError, type TurnFrame } from '@switchyard/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Edge } from '../edge.ts';
import { RefusalError } from '../server/refusal.ts';
import { callOptions } from '../server/trace.ts';
import { chatQuery, queryText, withIdempotencyKey, type Query } from './chat-request.ts';
import { badRequest, errorEventData, failureError, noteFailure } from './errors.ts';
import { createJoinedText, openEventStream, type EventStream } from './sse.ts';
import { joinTurn, startTurn, type StartedTurn } from './start-turn.ts';
import { hasEnded, type TurnListener } from './turn-reader.ts';

const RETRY_MS = 3_000;
/**
 * Every event repeats the whole text so far. So that a long answer costs a multiple of its length and not its square, no more than so
 * many characters of it go out in a millisecond: the longer the text, the larger the pieces it grows by. A quarter of a megabyte a second.
 */
const ACCUMULATED_PER_MS = 256;
/** A client that has no event yet. */
const NOTHING = -1;

/**
 * `GET /api/chat/stream`: one durable turn as server-sent events. EventSource comes back by itself, after a broken connection
 * and after a normal end, so whoever comes with the id of an event gets the rest of that turn and never another one; 204,
 * which tells EventSource to stop, when there is no rest or no such turn (any more).
 */
export function registerChatStream(app: FastifyInstance, edge: Edge): void {
  app.get('/api/chat/stream', { onRequest: edge.guard({ scopes: ['rpc'], tokenInQuery: true }) }, async (request, reply) => {
    refusePrefetch(request);
    const query = request.query as Query;
    const seen = lastSeen(request, query);
    const turn = seen ? await resume(edge, request, seen) : await begin(edge, request, query);
    if (!turn) return reply.code(204).header('cache-control', 'no-store').send();
    sendTurn(edge, { request, reply, turn, after: seen?.n ?? NOTHING });
    return reply;
  });
}

/** A page that is only guessed to be wanted must not run a turn. */
function refusePrefetch({ headers }: FastifyRequest): void {
  const purpose = headers['sec-purpose'] ?? headers['purpose'];
  if (typeof purpose !== 'string' || !/^\s*prefetch\b/i.test(purpose)) return;
  throw new RefusalError({ status: 403, message: 'Forbidden: a turn is not prefetched', code: 'PERMISSION_DENIED' });
}

interface Seen {
  turnId: string;
  n: number;
}

const EVENT_ID = /^(turn_[0-9A-Za-z]{22}):(\d{1,9})$/;

/** The last event the client has, from its header or the twin in the query for clients that cannot set one. */
function lastSeen({ headers }: FastifyRequest, query: Query): Seen | undefined {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : queryText(query, 'lastEventId');
  if (text === undefined) return undefined;
  const [, turnId, n] = EVENT_ID.exec(text) ?? [];
  if (turnId === undefined) throw badRequest('Invalid Last-Event-ID: expected <turnId>:<n>');
  return { turnId, n: Number(n) };
}

function begin(edge: Edge, request: FastifyRequest, query: Query): Promise<StartedTurn> {
  const chat = withIdempotencyKey(chatQuery(query), request);
  return startTurn(edge.bus.as(request.caller.principal), chat, callOptions(request));
}

/** The turn the client comes back for; undefined when there is nothing left of it to send. */
async function resume(edge: Edge, request: FastifyRequest, { turnId, n }: Seen): Promise<StartedTurn | undefined> {
  try {
    const turn = await joinTurn(edge.bus.as(request.caller.principal), turnId, callOptions(request));
    const { earlier, reader } = turn;
    if (!hasEnded(earlier) || earlier.lastFrame === undefined || n < earlier.lastFrame) return turn;
    reader.close();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

interface SentTurn {
  request: FastifyRequest;
  reply: FastifyReply;
  turn: StartedTurn;
  /** The number of the last event the client has. */
  after: number;
}

function sendTurn(edge: Edge, { request, reply, turn, after }: SentTurn): void {
  const { turnId, reader, earlier } = turn;
  const leave = (): void => stream.end(); // a gateway that drains: the client comes back elsewhere for the rest
  const stream = openEventStream(reply, {
    first: `retry: ${RETRY_MS}\nid: ${turnId}:${Math.max(after, 0)}\n\n`,
    headers: earlier && after === NOTHING ? { 'idempotency-replayed': 'true' } : {},
    admitted: () => edge.tokens.admits(request.caller),
    onDrain: () => renderer.drained(),
    onClose() {
      reader.close();
      edge.closing.removeEventListener('abort', leave);
    },
  });
  const fail = (error: ServiceError): Record<string, unknown> => {
    noteFailure(edge, request, error);
    return errorEventData(error, request.id);
  };
  const renderer = createRenderer(stream, { turnId, after, fail });
  if (reply.raw.destroyed) return;
  edge.closing.addEventListener('abort', leave);
  if (edge.closing.aborted) leave();
  else reader.read(renderer, earlier);
}

interface Renderer extends TurnListener {
  drained(): void;
}

interface Rendering {
  turnId: string;
  /** The number of the last event the client has. */
  after: number;
  /** What is said of a failure. */
  fail: (error: ServiceError) => Record<string, unknown>;
}

/** Renders a turn's frames as events. What the client has already counts towards `accumulated`, and is not sent again. */
function createRenderer(stream: EventStream, { turnId, after, fail }: Rendering): Renderer {
  let accumulated = '';
  let last = Math.max(after, 0);
  const event = (name: string, data: unknown): string => `id: ${turnId}:${last}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const text = createJoinedText(stream, {
    send: (delta) => stream.write(event('token', { delta, accumulated })),
    pauseMs: () => accumulated.length / ACCUMULATED_PER_MS,
  });

  function finish(name: string, data: unknown, n: number): void {
    text.flush();
    last = n;
    stream.end(event(name, data));
  }

  /** Another runner goes on, or frames were lost: from here on the text is this one, whatever was said beyond it. */
  function resume({ n, text: said }: TurnFrame & { type: 'resumed' }): void {
    if (n > after) text.flush();
    accumulated = said;
    if (n <= after) return;
    last = n;
    stream.write(event('resumed', { accumulated }));
  }

  function render(frames: readonly TurnFrame[]): void {
    let fresh = '';
    for (const frame of frames) {
      if (frame.type === 'resumed') {
        resume(frame);
        fresh = '';
      }
      if (frame.type !== 'delta') continue;
      accumulated += frame.text;
      if (frame.n <= after) continue;
      fresh += frame.text;
      last = frame.n;
    }
    if (fresh !== '') text.add(fresh);
  }

  return {
    frames(frames) {
      render(frames);
      const end = frames.at(-1);
      if (end?.type === 'done') {
        const { response, tokensUsed, finishReason } = end.result;
        finish('done', { response, tokensUsed, finishReason }, end.n);
      } else if (end?.type === 'error') finish('error', fail(failureError(end.error)), end.n);
    },
    lost: (error) => finish('error', fail(error), last),
    drained: () => text.drained(),
  };
}
