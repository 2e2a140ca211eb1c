import type { FastifyInstance } from 'fastify';
import type { Edge } from '../edge.ts';
import { callOptions } from '../server/trace.ts';

/** `GET /api/agents`: the agents of the caller's tenant, each with the model that it would answer with. */
export function registerAgents(app: FastifyInstance, edge: Edge): void {
  app.get('/api/agents', { onRequest: edge.guard({ scopes: ['rpc'] }) }, async (request, reply) => {
    const { agents } = await edge.bus.as(request.caller.principal).call('agents.visible', {}, callOptions(request));
    reply.header('cache-control', 'no-store');
    return { agents };
  });
}
