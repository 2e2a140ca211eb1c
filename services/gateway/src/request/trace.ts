import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { CallOptions } from '@switchyard/bus';
import { parseTraceparent, startSpan, tracing, type Span } from '@switchyard/telemetry';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The valid `traceparent` of the caller. */
export function getTraceparent({ headers }: { headers: IncomingHttpHeaders }): string | undefined {
  const header = headers['traceparent'];
  return header === undefined ? undefined : parseTraceparent(header)?.traceparent;
}

/** Starts a span in the trace of the caller while telemetry is enabled. Calls of the route continue the span. */
export function startRequestSpan({ raw, id, routeOptions }: FastifyRequest, reply: FastifyReply): Span | undefined {
  return tracing() ? startRouteSpan(raw, reply.raw, { route: routeOptions.url ?? 'none', requestId: id }) : undefined;
}

/** Starts a span that ends with the response. */
export function startRouteSpan(
  request: IncomingMessage,
  response: ServerResponse,
  { route, requestId }: { route: string; requestId: string },
): Span {
  const { method = '' } = request;
  const attributes = { 'http.request.method': method, 'http.route': route, 'switchyard.request_id': requestId };
  const span = startSpan(`${method} ${route}`, attributes, getTraceparent(request));
  response.once('close', () => {
    const { statusCode } = response;
    span.set({ 'http.response.status_code': statusCode });
    span.end(statusCode >= 500 ? new Error(`status ${statusCode}`) : undefined);
  });
  return span;
}

/** The request id and trace for calls made on behalf of this request. */
export function createCallOptions(request: FastifyRequest): CallOptions {
  const traceparent = request.span?.traceparent ?? getTraceparent(request);
  return { requestId: request.id, ...(traceparent === undefined ? {} : { traceparent }) };
}
