import type { HealthReporter } from '@switchyard/service-kit';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Edge } from '../edge.ts';

/** Probes and health: nobody needs a token for them, and no limit applies. */
export function registerHealth(app: FastifyInstance, edge: Edge, health: HealthReporter): void {
  const body = () => ({ status: 'ok', timestamp: new Date().toISOString() });
  app.get('/health', (_request, reply) => answer(reply, 200, body()));
  app.get('/api/health', (_request, reply) => answer(reply, 200, body()));
  app.get('/livez', (_request, reply) => answer(reply, 200, { status: 'ok' }));
  app.get('/startupz', (_request, reply) => answer(reply, 200, { status: 'ok' })); // the listener opens once everything is set up
  app.get('/readyz', (_request, reply) => {
    health.set('tokens', edge.tokens.sound(), 'nothing vouches for the tokens');
    const readiness = health.readiness();
    const status = edge.draining.aborted ? 'draining' : readiness.status;
    const ready = status === 'ready';
    answer(reply, ready ? 200 : 503, { ...readiness, ready, status });
  });
}

function answer(reply: FastifyReply, status: number, body: unknown): void {
  reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body));
}
