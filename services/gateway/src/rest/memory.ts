import { memory } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { MEMORY_LIMIT, MemorySearchResult, MemoryQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';
import { type Query, getQueryLimit, getQueryText } from '../request/query.ts';
import { createBadRequest } from '../request/refusal.ts';

const SEARCH: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Searches the memory of the default agent, best match first.',
  query: MemoryQuery,
  example: { query: { q: 'the second offer' } },
  responses: { 200: { description: 'The memories.', schema: MemorySearchResult } },
};

const STATS: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Returns memory statistics.',
  responses: { 200: { description: 'The statistics.', schema: memory.methods['memory.inspect'].result } },
};

/** `GET /api/memory/search` and `/api/memory/stats`. */
export function registerMemory(app: FastifyInstance, edge: Edge): void {
  app.get('/api/memory/search', edge.route(SEARCH), async (request, reply) => {
    const parameters = request.query as Query;
    const query = getQueryText(parameters, 'q');
    if (query === undefined) throw createBadRequest('Missing required query parameter: q');
    const limit = getQueryLimit(parameters, MEMORY_LIMIT);
    const { results } = await edge.bus.as(request.caller.principal).call('memory.search', { query, limit }, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return {
      results: results.map(({ id, content, memoryType, trustLevel, score, createdAt }) => {
        return { id, content, memoryType, trustLevel, score, createdAt };
      }),
    };
  });

  app.get('/api/memory/stats', edge.route(STATS), async (request, reply) => {
    const { stats } = await edge.bus.as(request.caller.principal).call('memory.inspect', {}, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return { stats };
  });
}
