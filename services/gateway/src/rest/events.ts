import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { LastEventHeader, LastEventQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createEventFeed, type EventFeed } from '../events/event-feed.ts';
import { createEventReader, type EventPosition, type UnknownPosition } from '../events/event-reader.ts';
import { RefusalError } from '../request/refusal.ts';
import { type Query, getQueryText } from '../request/query.ts';
import { openEventStream } from '../events/sse.ts';

const RETRY_MS = 3_000;

const DOC: RouteDoc = {
  scopes: ['rpc'],
  tokenInQuery: true,
  summary: 'Streams the system events of the tenant as server-sent events.',
  description:
    'A request with the id of an event receives the events after it, and `stream:reset` for events that no longer exist or an id that is not known.',
  query: LastEventQuery,
  headers: LastEventHeader,
  responses: { 200: { description: 'The events.', type: 'text/event-stream' } },
};

/**
 * `GET /api/events`: the system events of the caller's tenant. The id of an event is its position in the log, which keeps one day. A client
 * that reconnects to any gateway receives the events after its id, `stream:reset` for events that no longer exist, and `stream:reset` before
 * live events for an id that this installation did not give.
 */
export function registerEvents(app: FastifyInstance, edge: Edge): void {
  const feed = createEventFeed(edge);
  app.get('/api/events', edge.route(DOC), async (request, reply) => {
    refuseRestrictedToken(request);
    await sendEvents(edge, { request, reply, feed, after: parseLastEventId(request) });
    return reply;
  });
}

/** Rejects tokens restricted to own sessions or to certain agents, because events cover the whole tenant. */
export function refuseRestrictedToken({ caller }: FastifyRequest): void {
  const { sessions, agents } = caller.principal;
  if (sessions !== 'own' && agents === undefined) return;
  const restriction = sessions === 'own' ? 'its own sessions' : 'certain agents';
  const message = `Forbidden: this token is restricted to ${restriction}, and events cover the whole tenant`;
  throw new RefusalError({ status: 403, message, code: 'PERMISSION_DENIED' });
}

const EVENT_ID = /^([0-9a-z]{1,40})-(\d{1,15})$/;
const MAX_ID_CHARS = 64;

/**
 * Reads the header `Last-Event-ID`, or `lastEventId` from the query for clients that cannot set headers. An id of another server is no
 * error, because an error would end an EventSource for good.
 */
function parseLastEventId({ headers, query }: FastifyRequest): EventPosition | UnknownPosition | undefined {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : getQueryText(query as Query, 'lastEventId');
  if (text === undefined) return undefined;
  const [, name, seq] = EVENT_ID.exec(text) ?? [];
  return name === undefined ? { unknownId: text.slice(0, MAX_ID_CHARS) } : { name, seq: Number(seq) };
}

interface SendEventsOptions {
  request: FastifyRequest;
  reply: FastifyReply;
  feed: EventFeed;
  after: EventPosition | UnknownPosition | undefined;
}

/**
 * Responds while the log is unavailable. An EventSource gives up after any status but 200, so a client with a position gets a stream that
 * ends at once, and reconnects.
 */
function sendRetry(edge: Edge, { request, reply, after, error }: Omit<SendEventsOptions, 'feed'> & { error: unknown }): undefined {
  if (after === undefined) throw error;
  edge.log.warn({ err: error, requestId: request.id, errorKind: 'dependency', hint: 'the client reconnects' }, 'failed to read events');
  openEventStream(reply, {
    // Without an id line the client keeps its id.
    first: 'unknownId' in after ? `retry: ${RETRY_MS}\n\n` : `retry: ${RETRY_MS}\nid: ${after.name}-${after.seq}\n\n`,
    isAuthorized: () => false,
    onDrain: () => undefined,
    onClose: () => undefined,
  }).end();
}

async function sendEvents(edge: Edge, { request, reply, feed, after }: SendEventsOptions): Promise<void> {
  const endForDrain = (): void => stream.end(); // while draining: the client reconnects to another gateway
  const reader = createEventReader({
    feed,
    tenant: request.caller.principal.tenant,
    write: (events) => stream.write(events),
    isBehind: () => stream.needsDrain,
    onError(error) {
      edge.log.warn({ err: error, requestId: request.id, errorKind: 'dependency', hint: 'the client reconnects' }, 'failed to read events');
      stream.end();
    },
  });
  const place = await reader.open(after).catch((error: unknown) => sendRetry(edge, { request, reply, after, error }));
  if (place === undefined) return;
  const stream = openEventStream(reply, {
    first: `retry: ${RETRY_MS}\n${place}`,
    isAuthorized: () => edge.tokens.mayStream(request.caller),
    renderPosition: () => reader.renderPosition(),
    onDrain: () => reader.drained(),
    onClose() {
      reader.close();
      edge.closing.removeEventListener('abort', endForDrain);
    },
  });
  if (reply.raw.destroyed) return;
  edge.closing.addEventListener('abort', endForDrain);
  if (edge.closing.aborted) endForDrain();
  else reader.begin();
}
