import { EVENTS_LOG } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RouteDoc } from '../docs/route-doc.ts';
import type { Edge } from '../edge.ts';
import { readActivity } from '../events/activity.ts';
import { queryLimit, queryLimitDoc, type Query } from './chat-request.ts';
import { refuseOwn } from './events.ts';

const Entry = z.object({
  id: z.string().describe('the place of the event, as /api/events names it'),
  event: z.string(),
  payload: z.record(z.string(), z.unknown()),
  timestamp: z.int().describe('epoch milliseconds'),
});

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'What happened last in the tenant, oldest first.',
  query: z.object({ limit: queryLimitDoc({ most: 100, unless: 50 }) }),
  answers: { 200: { description: 'The events.', schema: z.object({ entries: z.array(Entry), count: z.int().nonnegative() }) } },
};

/** `GET /api/activity`: what happened last in the caller's tenant, oldest first. */
export function registerActivity(app: FastifyInstance, edge: Edge): void {
  app.get('/api/activity', edge.route(DOC), async (request, reply) => {
    refuseOwn(request);
    const limit = queryLimit(request.query as Query, { most: 100, unless: 50 });
    const entries = await readActivity(await edge.bus.log(EVENTS_LOG), { tenant: request.caller.principal.tenant, limit });
    reply.header('cache-control', 'no-store');
    return { entries, count: entries.length };
  });
}
