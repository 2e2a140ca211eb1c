import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { LastEventHeader, LastEventQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createEventFeed, type EventFeed } from '../events/event-feed.ts';
import { createEventReader, type EventPlace } from '../events/event-reader.ts';
import { badRequest, RefusalError } from '../request/refusal.ts';
import { type Query, getQueryText } from '../request/query.ts';
import { openEventStream } from '../events/sse.ts';

const RETRY_MS = 3_000;

const DOC: RouteDoc = {
  scopes: ['rpc'],
  tokenInQuery: true,
  summary: 'The system events of the tenant as they happen, as server-sent events.',
  description: 'Whoever comes back with the id of an event gets what was missed, or an event `stream:reset` where some of it is gone.',
  query: LastEventQuery,
  headers: LastEventHeader,
  answers: { 200: { description: 'The events.', type: 'text/event-stream' } },
};

/**
 * `GET /api/events`: the system events of the caller's tenant as they happen. Each has the id of its place in the log, which keeps a
 * day: who comes back with one, at whichever gateway, gets what was missed, and `stream:reset` where some of it is gone.
 */
export function registerEvents(app: FastifyInstance, edge: Edge): void {
  const feed = createEventFeed(edge);
  app.get('/api/events', edge.route(DOC), async (request, reply) => {
    refuseOwn(request);
    await sendEvents(edge, { request, reply, feed, after: lastSeen(request) });
    return reply;
  });
}

/** Events tell of all sessions of the tenant, and of all its agents. */
export function refuseOwn({ caller }: FastifyRequest): void {
  const { sessions, agents } = caller.principal;
  if (sessions !== 'own' && agents === undefined) return;
  const held = sessions === 'own' ? 'its own sessions' : 'some agents';
  const message = `Forbidden: this token is for ${held}, and events tell of all`;
  throw new RefusalError({ status: 403, message, code: 'PERMISSION_DENIED' });
}

const EVENT_ID = /^([0-9a-z]{1,40})-(\d{1,15})$/;

/** The last event the client has, from its header or the twin in the query for clients that cannot set one. */
function lastSeen({ headers, query }: FastifyRequest): EventPlace | undefined {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : getQueryText(query as Query, 'lastEventId');
  if (text === undefined) return undefined;
  const [, name, seq] = EVENT_ID.exec(text) ?? [];
  if (name === undefined) throw badRequest('Invalid Last-Event-ID: expected <log>-<n>');
  return { name, seq: Number(seq) };
}

interface Listening {
  request: FastifyRequest;
  reply: FastifyReply;
  feed: EventFeed;
  after: EventPlace | undefined;
}

/**
 * The log is not there for now. Any status but 200 tells an EventSource never to come back, so who stands somewhere is given a stream
 * that ends at once, and asks again from there.
 */
function comeBack(edge: Edge, { request, reply, after, error }: Omit<Listening, 'feed'> & { error: unknown }): undefined {
  if (after === undefined) throw error;
  edge.log.warn({ err: error, requestId: request.id, errorKind: 'dependency', hint: 'the client comes back' }, 'events not read');
  openEventStream(reply, {
    first: `retry: ${RETRY_MS}\nid: ${after.name}-${after.seq}\n\n`,
    admitted: () => false,
    onDrain: () => undefined,
    onClose: () => undefined,
  }).end();
}

async function sendEvents(edge: Edge, { request, reply, feed, after }: Listening): Promise<void> {
  const leave = (): void => stream.end(); // a gateway that drains: the client comes back elsewhere
  const reader = createEventReader({
    feed,
    tenant: request.caller.principal.tenant,
    write: (events) => stream.write(events),
    behind: () => stream.behind,
    broken(error) {
      edge.log.warn({ err: error, requestId: request.id, errorKind: 'dependency', hint: 'the client comes back' }, 'events not read');
      stream.end();
    },
  });
  const place = await reader.open(after).catch((error: unknown) => comeBack(edge, { request, reply, after, error }));
  if (place === undefined) return;
  const stream = openEventStream(reply, {
    first: `retry: ${RETRY_MS}\n${place}`,
    admitted: () => edge.tokens.mayStream(request.caller),
    place: () => reader.place(),
    onDrain: () => reader.drained(),
    onClose() {
      reader.close();
      edge.closing.removeEventListener('abort', leave);
    },
  });
  if (reply.raw.destroyed) return;
  edge.closing.addEventListener('abort', leave);
  if (edge.closing.aborted) leave();
  else reader.begin();
}
