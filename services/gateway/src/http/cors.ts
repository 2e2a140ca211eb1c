// CORS is one rule for every route: a page may send a request and read its response when its origin is allowed
// (`gateway.corsOrigins`, or the origin of the gateway itself).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission } from '../auth/admission.ts';
import { NOT_FOUND, refuse } from '../request/refusal.ts';

type OriginCheck = Pick<Admission, 'checkHostAndOrigin'>;

const ALLOWED_METHODS = 'GET, POST, OPTIONS';
/** The only routes with `DELETE` that a browser may call. */
const DELETABLE = /^\/v1\/responses\/[^/]/;
const ALLOWED_HEADERS = ['Authorization', 'Content-Type', 'Last-Event-ID', 'Idempotency-Key', 'X-Request-Id'];
/** Headers that the SDKs read, besides those that every page may read. Without `X-Should-Retry` they repeat a turn that has run. */
const EXPOSED_HEADERS = [
  'X-Request-Id, Retry-After, Retry-After-Ms, X-Should-Retry, RateLimit, RateLimit-Policy',
  'X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, X-RateLimit-Reset-Requests, X-Switchyard-Warning',
].join(', ');
const MAX_AGE_S = 3_600;
/** The name of a header field (RFC 9110, section 5.1). */
const FIELD_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** Lets a page of an allowed origin read the response. Responses to other origins get no header. */
export function addCorsHeaders(admission: OriginCheck, request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined || admission.checkHostAndOrigin(request)) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
  response.setHeader('vary', 'Origin');
}

/** Registers the preflight of all routes. Other `OPTIONS` requests are answered below `/api` only. */
export function registerPreflight(app: FastifyInstance, admission: OriginCheck): void {
  app.options('/api/*', (request, reply) => sendPreflight(admission, request, reply));
  app.options('/*', (request, reply) =>
    request.headers['access-control-request-method'] === undefined
      ? refuse(request, reply, NOT_FOUND)
      : sendPreflight(admission, request, reply),
  );
}

function sendPreflight(admission: OriginCheck, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = admission.checkHostAndOrigin(request.raw);
  if (refusal) return refuse(request, reply, refusal);
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': DELETABLE.test(request.url) ? `DELETE, ${ALLOWED_METHODS}` : ALLOWED_METHODS,
      'access-control-allow-headers': getAllowedHeaders(request.headers['access-control-request-headers']),
      'access-control-max-age': String(MAX_AGE_S),
    })
    .send();
}

/**
 * Returns the headers that an allowed origin may send: every one that it asks for, because each SDK has its own (`x-stainless-*`, `openai-beta`).
 * Only an allowed origin gets here, and the credentials are in `Authorization`, which it may send anyway.
 */
function getAllowedHeaders(requested = ''): string {
  const known = new Set(ALLOWED_HEADERS.map((name) => name.toLowerCase()));
  const others = requested.split(',').map((name) => name.trim().toLowerCase());
  return [...ALLOWED_HEADERS, ...new Set(others.filter((name) => FIELD_NAME.test(name) && !known.has(name)))].join(', ');
}
