import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { CallOptions } from '@switchyard/bus';
import { parseTraceparent, startSpan, tracing, type Span } from '@switchyard/telemetry';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The caller's own trace, continued; nothing when it sent none that is valid. */
export function traceparentOf({ headers }: { headers: IncomingHttpHeaders }): string | undefined {
  const header = headers['traceparent'];
  return header === undefined ? undefined : parseTraceparent(header)?.traceparent;
}

/** While telemetry is on, what a route does is a span of the caller's trace; calls made for it continue that span. */
export function traceRequest({ raw, id, routeOptions }: FastifyRequest, reply: FastifyReply): Span | undefined {
  return tracing() ? startRouteSpan(raw, reply.raw, { route: routeOptions.url ?? 'none', requestId: id }) : undefined;
}

/** A span that ends with its response. */
export function startRouteSpan(
  request: IncomingMessage,
  response: ServerResponse,
  { route, requestId }: { route: string; requestId: string },
): Span {
  const { method = '' } = request;
  const attributes = { 'http.request.method': method, 'http.route': route, 'switchyard.request_id': requestId };
  const span = startSpan(`${method} ${route}`, attributes, traceparentOf(request));
  response.once('close', () => {
    const { statusCode } = response;
    span.set({ 'http.response.status_code': statusCode });
    span.end(statusCode >= 500 ? new Error(`answered ${statusCode}`) : undefined);
  });
  return span;
}

/** The ids under which a call on behalf of this request is found again. */
export function callOptions(request: FastifyRequest): CallOptions {
  const traceparent = request.span?.traceparent ?? traceparentOf(request);
  return { requestId: request.id, ...(traceparent === undefined ? {} : { traceparent }) };
}
