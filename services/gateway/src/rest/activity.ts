import { EVENTS_LOG } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { ACTIVITY_LIMIT, Activity, ActivityQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { readActivity } from '../events/activity.ts';
import { type Query, getQueryLimit } from '../request/query.ts';
import { refuseRestrictedToken } from './events.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Lists the recent activity of the tenant, oldest first.',
  query: ActivityQuery,
  responses: { 200: { description: 'The events.', schema: Activity } },
};

/** `GET /api/activity`: the recent activity of the caller's tenant, oldest first. */
export function registerActivity(app: FastifyInstance, edge: Edge): void {
  app.get('/api/activity', edge.route(DOC), async (request, reply) => {
    refuseRestrictedToken(request);
    const limit = getQueryLimit(request.query as Query, ACTIVITY_LIMIT);
    const entries = await readActivity(await edge.bus.log(EVENTS_LOG), { tenant: request.caller.principal.tenant, limit });
    reply.header('cache-control', 'no-store');
    return { entries, count: entries.length };
  });
}
