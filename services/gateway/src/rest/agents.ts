import { registry } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'The agents of the tenant, each with the model it answers with.',
  answers: { 200: { description: 'The agents.', schema: registry.operations['agents.visible'].result } },
};

/** `GET /api/agents`: the agents of the caller's tenant, each with the model that it would answer with. */
export function registerAgents(app: FastifyInstance, edge: Edge): void {
  app.get('/api/agents', edge.route(DOC), async (request, reply) => {
    const { agents } = await edge.bus.as(request.caller.principal).call('agents.visible', {}, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return { agents };
  });
}
