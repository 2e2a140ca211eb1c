import type { IncomingHttpHeaders } from 'node:http';
import type { CallOptions } from '@switchyard/bus';
import { parseTraceparent, startSpan, tracing } from '@switchyard/telemetry';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The caller's own trace, continued; nothing when it sent none that is valid. */
export function traceparentOf({ headers }: { headers: IncomingHttpHeaders }): string | undefined {
  const header = headers['traceparent'];
  return header === undefined ? undefined : parseTraceparent(header)?.traceparent;
}

/** While telemetry is on, what a route does is a span of the caller's trace; calls made for it continue that span. */
export function traceRequest(request: FastifyRequest, reply: FastifyReply): void {
  if (!tracing()) return;
  const { url: route = 'none' } = request.routeOptions;
  const attributes = { 'http.request.method': request.method, 'http.route': route, 'switchyard.request_id': request.id };
  const span = startSpan(`${request.method} ${route}`, attributes, traceparentOf(request));
  request.span = span;
  reply.raw.once('close', () => {
    const { statusCode } = reply.raw;
    span.set({ 'http.response.status_code': statusCode });
    span.end(statusCode >= 500 ? new Error(`answered ${statusCode}`) : undefined);
  });
}

/** The ids under which a call on behalf of this request is found again. */
export function callOptions(request: FastifyRequest): CallOptions {
  const traceparent = request.span?.traceparent ?? traceparentOf(request);
  return { requestId: request.id, ...(traceparent === undefined ? {} : { traceparent }) };
}
