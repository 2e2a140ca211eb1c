import type { IncomingHttpHeaders } from 'node:http';
import type { CallOptions } from '@switchyard/bus';
import { parseTraceparent } from '@switchyard/telemetry';
import type { FastifyRequest } from 'fastify';

/** The caller's own trace, continued; nothing when it sent none that is valid. */
export function traceparentOf({ headers }: { headers: IncomingHttpHeaders }): string | undefined {
  const header = headers['traceparent'];
  return header === undefined ? undefined : parseTraceparent(header)?.traceparent;
}

/** The ids under which a call on behalf of this request is found again. */
export function callOptions(request: FastifyRequest): CallOptions {
  const traceparent = traceparentOf(request);
  return { requestId: request.id, ...(traceparent === undefined ? {} : { traceparent }) };
}
