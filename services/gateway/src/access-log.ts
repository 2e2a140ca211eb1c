import type { Logger } from '@switchyard/telemetry';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One line in so many is written at `info`; at `debug` all are. */
const SAMPLE = 1_000;

/** Notes one answered request. Neither the query, nor headers, nor bodies are ever in the line. */
export type AccessLog = (request: FastifyRequest, reply: FastifyReply) => void;

export function createAccessLog(log: Logger): AccessLog {
  let count = 0;
  return (request, reply) => {
    const sampled = ++count % SAMPLE === 0;
    if (!sampled && !log.isLevelEnabled('debug')) return;
    const line = {
      requestId: request.id,
      verb: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.raw.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
    };
    if (sampled) log.info({ ...line, sampledOf: SAMPLE }, 'request');
    else log.debug(line, 'request');
  };
}
