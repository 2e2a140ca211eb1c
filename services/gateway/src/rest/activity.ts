import { EVENTS_LOG } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { ACTIVITY_LIMIT, Activity, ActivityQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { readActivity } from '../events/activity.ts';
import { type Query, getQueryLimit } from '../request/query.ts';
import { refuseOwn } from './events.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'What happened last in the tenant, oldest first.',
  query: ActivityQuery,
  answers: { 200: { description: 'The events.', schema: Activity } },
};

/** `GET /api/activity`: what happened last in the caller's tenant, oldest first. */
export function registerActivity(app: FastifyInstance, edge: Edge): void {
  app.get('/api/activity', edge.route(DOC), async (request, reply) => {
    refuseOwn(request);
    const limit = getQueryLimit(request.query as Query, ACTIVITY_LIMIT);
    const entries = await readActivity(await edge.bus.log(EVENTS_LOG), { tenant: request.caller.principal.tenant, limit });
    reply.header('cache-control', 'no-store');
    return { entries, count: entries.length };
  });
}
