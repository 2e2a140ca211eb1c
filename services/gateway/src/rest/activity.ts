import { readEvent, type Log } from '@switchyard/bus';
import { EVENTS_LOG, subjects, type EventName } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { ACTIVITY_LIMIT, Activity, ActivityQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
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

/** Events that count as activity: actions of agents and their environment. */
const ACTIVITY_EVENTS: ReadonlySet<string> = new Set<EventName>([
  'message:received',
  'message:sent',
  'session:created',
  'session:expired',
  'audit:event',
  'skill:loaded',
  'skill:executed',
  'skill:rejected',
  'scheduler:job_started',
  'scheduler:job_completed',
  'scheduler:heartbeat_check',
  'scheduler:task_extracted',
  'system:error',
]);

/** Events per read. */
const PAGE_SIZE = 200;
/** Reads per request. Older activity is not found. */
const MAX_READS = 20;

interface ActivityEntry {
  /** The position in the log, as in `/api/events`. */
  id: string;
  event: string;
  payload: unknown;
  /** Epoch milliseconds. */
  timestamp: number;
}

interface ReadActivityOptions {
  tenant: string;
  limit: number;
}

/** Reads the newest activity of a tenant from the log, which all gateways share, and returns it oldest first. */
async function readActivity(events: Log, { tenant, limit }: ReadActivityOptions): Promise<ActivityEntry[]> {
  const { name, firstSeq, seq } = await events.position();
  const activity: ActivityEntry[] = [];
  // Each range is twice as long as the newer one, so that few reads reach far back for a quiet tenant among busy ones.
  for (let [to, size, reads] = [seq, PAGE_SIZE, 0]; to >= firstSeq && reads < MAX_READS && activity.length < limit; reads += 1) {
    const from = Math.max(to - size + 1, firstSeq);
    const page = await events.page(subjects.eventsOfTenant(tenant), from, PAGE_SIZE);
    if (size > PAGE_SIZE && page.length === PAGE_SIZE) {
      size = Math.max(PAGE_SIZE, size / 8); // the range may have more events than the page
      continue;
    }
    const entries = page.filter((entry) => entry.seq <= to);
    to = from - 1;
    size *= 2;
    for (const entry of entries.toReversed()) {
      const event = readEvent(entry);
      if (event?.tenant !== tenant || !ACTIVITY_EVENTS.has(event.name)) continue;
      const payload: unknown = JSON.parse(Buffer.from(event.payload).toString());
      activity.push({ id: `${name}-${entry.seq}`, event: event.name, payload, timestamp: entry.at });
    }
  }
  return activity.slice(0, limit).reverse();
}
