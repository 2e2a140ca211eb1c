import { servicePresence, ServiceError, type Replica, type ServicePresence } from '@switchyard/contracts';
import type { HealthReporter, Readiness } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Health, Ok, Ready } from '../openapi/schemas.ts';
import { isRefusal, type Admission } from '../auth/admission.ts';
import type { Edge } from './edge.ts';

function documented(summary: string, schema: z.ZodType, answers: RouteDoc['answers'] = {}): { config: { doc: RouteDoc } } {
  return { config: { doc: { open: true, summary, answers: { 200: { description: 'Yes.', schema }, ...answers } } } };
}

interface HealthGiven {
  /** The whole process's. */
  health: HealthReporter;
  /** Who may see the services. */
  admission: Pick<Admission, 'admit'>;
}

/**
 * Probes and health: nobody needs a token for them, and no limit applies. `/readyz` adds for a token with scope admin which
 * services there are and how each replica is, found on the bus, so that an operator learns it whatever else is down.
 */
export function registerHealth(app: FastifyInstance, edge: Edge, { health, admission }: HealthGiven): void {
  const body = () => ({ status: 'ok', timestamp: new Date().toISOString() });
  app.get('/health', documented('Whether this gateway lives.', Health), (_request, reply) => answer(reply, 200, body()));
  app.get('/api/health', documented('The same, for dashboards.', Health), (_request, reply) => answer(reply, 200, body()));
  app.get('/livez', documented('Whether this process lives.', Ok), (_request, reply) => answer(reply, 200, { status: 'ok' }));
  app.get('/startupz', documented('Whether it has started.', Ok), (_request, reply) => answer(reply, 200, { status: 'ok' })); // the listener opens once everything is set up
  const ready = documented('Whether requests are to be sent here; a token with scope admin is shown every service besides.', Ready, {
    503: { description: 'No, and by dependency why not.', schema: Ready },
  });
  app.get('/readyz', ready, async (request, reply) => {
    const services = mayLook(admission, request) ? await lookAround(edge, wantsEndpoints(request)) : undefined;
    const readiness = readinessOf(edge, health);
    return answer(reply, readiness.ready ? 200 : 503, services === undefined ? readiness : { ...readiness, services });
  });
}

function readinessOf(edge: Edge, health: HealthReporter): Omit<Readiness, 'status'> & { status: string } {
  const readiness = health.readiness();
  const status = edge.draining.aborted ? 'draining' : readiness.status;
  return { ...readiness, ready: status === 'ready', status };
}

/** A probe is never refused: whoever may not look, or asks too often, gets the answer that everybody gets. */
function mayLook(admission: HealthGiven['admission'], { raw }: FastifyRequest): boolean {
  if (raw.headers.authorization === undefined) return false;
  const caller = admission.admit(raw);
  return !isRefusal(caller) && caller.may.admin;
}

/** Undefined while the bus cannot be asked; that it cannot stands in the readiness. */
async function lookAround({ bus }: Edge, endpoints: boolean): Promise<ServicePresence[] | undefined> {
  try {
    const found = await bus.discover({ includeStats: true });
    return servicePresence(endpoints ? found : found.map(withoutEndpoints));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** `/readyz?endpoints`: a cluster has thousands of them, so they are told to whoever asks for them. */
function wantsEndpoints({ query }: FastifyRequest): boolean {
  return typeof query === 'object' && query !== null && 'endpoints' in query;
}

function withoutEndpoints({ endpoints: _endpoints, ...replica }: Replica): Replica {
  return replica;
}

/** Without an id: what is asked every few seconds leaves no line in the log to be found under it. */
function answer(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply
    .removeHeader('x-request-id')
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}
