import { servicePresence, ServiceError, type Replica, type ServicePresence } from '@switchyard/contracts';
import type { HealthReporter, Readiness } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Health, Ok, Ready } from '../openapi/schemas.ts';
import { isRefusal, type Admission } from '../auth/admission.ts';
import type { Edge } from './edge.ts';

function createProbeOptions(summary: string, schema: z.ZodType, answers: RouteDoc['responses'] = {}): { config: { doc: RouteDoc } } {
  return { config: { doc: { open: true, summary, responses: { 200: { description: 'The check passes.', schema }, ...answers } } } };
}

/** Response window in milliseconds of the second discovery, which follows when a service did not answer the first. Its replicas may be busy. */
const BUSY_WINDOW_MS = 1_000;

interface HealthOptions {
  /** The health of the process. */
  health: HealthReporter;
  /** Decides which callers see the services. */
  admission: Pick<Admission, 'admit'>;
}

/**
 * Health routes without token and rate limit. For a token with scope admin `/readyz` adds the services and their replicas, discovered
 * over the bus.
 */
export function registerHealth(app: FastifyInstance, edge: Edge, { health, admission }: HealthOptions): void {
  const body = () => ({ status: 'ok', timestamp: new Date().toISOString() });
  app.get('/health', createProbeOptions('Liveness of this gateway.', Health), (_request, reply) => sendJson(reply, 200, body()));
  app.get('/api/health', createProbeOptions('Liveness of this gateway, for dashboards.', Health), (_request, reply) =>
    sendJson(reply, 200, body()),
  );
  app.get('/livez', createProbeOptions('Liveness of this process.', Ok), (_request, reply) => sendJson(reply, 200, { status: 'ok' }));
  app.get('/startupz', createProbeOptions('Whether the gateway has started.', Ok), (_request, reply) =>
    sendJson(reply, 200, { status: 'ok' }),
  ); // the listener opens once everything is set up
  const ready = createProbeOptions('Readiness for requests. A token with scope admin also gets every service.', Ready, {
    503: { description: 'Not ready, with the reason by dependency.', schema: Ready },
  });
  app.get('/readyz', ready, async (request, reply) => {
    const services = maySeeServices(admission, request) ? await discoverServices(edge, wantsEndpoints(request)) : undefined;
    const readiness = getReadiness(edge, health);
    return sendJson(reply, readiness.ready ? 200 : 503, services === undefined ? readiness : { ...readiness, services });
  });
}

function getReadiness(edge: Edge, health: HealthReporter): Omit<Readiness, 'status'> & { status: string } {
  const readiness = health.readiness();
  const status = edge.draining.aborted ? 'draining' : readiness.status;
  return { ...readiness, ready: status === 'ready', status };
}

/** A probe is never refused. A caller without scope admin or above its rate gets the public response. */
function maySeeServices(admission: HealthOptions['admission'], { raw }: FastifyRequest): boolean {
  if (raw.headers.authorization === undefined) return false;
  const caller = admission.admit(raw);
  return !isRefusal(caller) && caller.may.admin;
}

/** Undefined while the bus is unavailable, which the readiness reports. */
async function discoverServices({ bus, settings }: Edge, endpoints: boolean): Promise<ServicePresence[] | undefined> {
  try {
    const { installedServices } = settings.current.gateway;
    const read = async (windowMs?: number): Promise<ServicePresence[]> => {
      const replicas = await bus.discover({ includeStats: true, ...(windowMs === undefined ? {} : { windowMs }) });
      return servicePresence(endpoints ? replicas : replicas.map(withoutEndpoints), installedServices);
    };
    const services = await read();
    return services.some(({ state }) => state === 'down') ? await read(BUSY_WINDOW_MS) : services;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** `/readyz?endpoints` includes the endpoints, of which a cluster has thousands. */
function wantsEndpoints({ query }: FastifyRequest): boolean {
  return typeof query === 'object' && query !== null && 'endpoints' in query;
}

function withoutEndpoints({ endpoints: _endpoints, ...replica }: Replica): Replica {
  return replica;
}

/** Sends JSON without a request id, because probes are not logged. */
function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply
    .removeHeader('x-request-id')
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}
