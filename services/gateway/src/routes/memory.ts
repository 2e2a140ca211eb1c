import type { FastifyInstance } from 'fastify';
import type { Edge } from '../edge.ts';
import { callOptions } from '../server/trace.ts';
import { queryLimit, queryText, type Query } from './chat-request.ts';
import { badRequest } from './errors.ts';

/** `GET /api/memory/search` and `/api/memory/stats`: what the default agent remembers, and how much is remembered. */
export function registerMemory(app: FastifyInstance, edge: Edge): void {
  const options = { onRequest: edge.guard({ scopes: ['rpc'] }) };

  app.get('/api/memory/search', options, async (request, reply) => {
    const asked = request.query as Query;
    const query = queryText(asked, 'q');
    if (query === undefined) throw badRequest('Missing required query parameter: q');
    const limit = queryLimit(asked, { most: 100, unless: 10 });
    const { results } = await edge.bus.as(request.caller.principal).call('memory.search', { query, limit }, callOptions(request));
    reply.header('cache-control', 'no-store');
    return {
      results: results.map(({ id, content, memoryType, trustLevel, score, createdAt }) => {
        return { id, content, memoryType, trustLevel, score, createdAt };
      }),
    };
  });

  app.get('/api/memory/stats', options, async (request, reply) => {
    const { stats } = await edge.bus.as(request.caller.principal).call('memory.inspect', {}, callOptions(request));
    reply.header('cache-control', 'no-store');
    return { stats };
  });
}
