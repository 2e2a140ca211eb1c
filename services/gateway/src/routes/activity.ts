import { EVENTS_LOG } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { Edge } from '../edge.ts';
import { readActivity } from '../events/activity.ts';
import { queryLimit, type Query } from './chat-request.ts';
import { refuseOwn } from './events.ts';

/** `GET /api/activity`: what happened last in the caller's tenant, oldest first. */
export function registerActivity(app: FastifyInstance, edge: Edge): void {
  app.get('/api/activity', { onRequest: edge.guard({ scopes: ['rpc'] }) }, async (request, reply) => {
    refuseOwn(request);
    const limit = queryLimit(request.query as Query, { most: 100, unless: 50 });
    const entries = await readActivity(await edge.bus.log(EVENTS_LOG), { tenant: request.caller.principal.tenant, limit });
    reply.header('cache-control', 'no-store');
    return { entries, count: entries.length };
  });
}
