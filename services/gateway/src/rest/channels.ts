import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Channels } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Lists the enabled channels that are running.',
  responses: { 200: { description: 'The channels.', schema: Channels } },
};

/** `GET /api/channels`: the enabled channels that are running. */
export function registerChannels(app: FastifyInstance, edge: Edge): void {
  app.get('/api/channels', edge.route(DOC), async (request, reply) => {
    const { channels } = await edge.bus.as(request.caller.principal).call('channels.list', {}, createCallOptions(request));
    reply.header('cache-control', 'no-store');
    return {
      channels: channels
        .filter(({ status }) => status === 'running')
        .map(({ channelType, channelId = channelType }) => {
          return { type: channelType, name: channelId, enabled: true, status: 'connected' };
        }),
    };
  });
}
