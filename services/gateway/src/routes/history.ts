import type { FastifyInstance } from 'fastify';
import type { Edge } from '../edge.ts';
import { callOptions } from '../server/trace.ts';
import { queryText, type Query } from './chat-request.ts';

/** `GET /api/chat/history`: what was said in the caller's newest session of a channel. */
export function registerHistory(app: FastifyInstance, edge: Edge): void {
  app.get('/api/chat/history', { onRequest: edge.guard({ scopes: ['rpc'] }) }, async (request, reply) => {
    const channelId = queryText(request.query as Query, 'channelId') ?? 'gateway';
    const { messages } = await edge.bus.as(request.caller.principal).call('session.history', { channelId }, callOptions(request));
    reply.header('cache-control', 'no-store');
    return { messages };
  });
}
