import { sessions } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { HistoryQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';
import { type Query, getQueryText } from '../request/query.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Returns the messages of the newest session that this client created on a channel.',
  query: HistoryQuery,
  responses: { 200: { description: 'The messages, oldest first.', schema: sessions.methods['session.history'].result } },
};

/** `GET /api/chat/history`: the messages of the caller's newest session of a channel. */
export function registerHistory(app: FastifyInstance, edge: Edge): void {
  app.get('/api/chat/history', edge.route(DOC), async (request, reply) => {
    const query = request.query as Query;
    const channelId = getQueryText(query, 'channelId') ?? 'gateway';
    const params = { channelId, ...getPage(query) };
    const { messages, cursor } = await edge.bus.as(request.caller.principal).call('session.history', params, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return cursor === undefined ? { messages } : { messages, cursor };
  });
}

function getPage(query: Query): { limit?: number; cursor?: string } {
  const [limit, cursor] = [getQueryText(query, 'limit'), getQueryText(query, 'cursor')];
  return { ...(limit === undefined ? {} : { limit: Number(limit) }), ...(cursor === undefined ? {} : { cursor }) };
}
