import { registry } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Lists the agents of the tenant and their models.',
  responses: { 200: { description: 'The agents.', schema: registry.operations['agents.visible'].result } },
};

/** `GET /api/agents`: the agents of the caller's tenant and their models. */
export function registerAgents(app: FastifyInstance, edge: Edge): void {
  app.get('/api/agents', edge.route(DOC), async (request, reply) => {
    const { agents } = await edge.bus.as(request.caller.principal).call('agents.visible', {}, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return { agents };
  });
}
