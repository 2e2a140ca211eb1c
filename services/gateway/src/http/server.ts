import type { IncomingMessage, Server, ServerOptions as HttpOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { Socket } from 'node:net';
import { http, type Settings } from '@switchyard/service-kit';
import { fastify, type ConnectionError, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import type { AccessLog } from './access-log.ts';
import { readBody } from '../request/request-body.ts';
import { allowOrigin, type Admission } from '../auth/admission.ts';
import { discardBody } from '../request/discarded-body.ts';
import { describeError, type Failure, type FailureLog } from '../request/failure-log.ts';
import { SECURITY_HEADERS } from '../request/security-headers.ts';
import { hideQueryToken } from '../auth/query-token.ts';
import { durationsOf, type NoteDuration } from './request-durations.ts';
import { requestIdOf } from '../request/request-id.ts';
import { frontOf, type FrontRoute } from './pre-fastify-routes.ts';
import { cutIfStalled } from './response-timeout.ts';
import { traceparentOf, traceRequest } from '../request/trace.ts';
import { BAD_REQUEST, BODY_TOO_LARGE, INTERNAL, knownRefusal, NOT_FOUND, refuse, type Refusal } from '../request/refusal.ts';

export interface ServerOptions {
  settings: Settings<'gateway'>;
  admission: Admission;
  accessLog: AccessLog;
  failures: FailureLog;
  /** What is answered before a request comes to Fastify. */
  front: readonly FrontRoute[];
  /** The address under which a `POST` is routed. */
  rewritePath: (url: string) => string;
  /** Once it is aborted, each answer is the last one of its connection. */
  draining: AbortSignal;
  /** What a listener that speaks TLS is made with. */
  tls?: TlsOptions | undefined;
}

/** The HTTP server with what all routes share: ids, limits of the protocol, raw bodies, headers, errors, the access log. */
export function createHttpServer({
  settings,
  admission,
  accessLog,
  failures,
  front,
  rewritePath,
  draining,
  tls,
}: ServerOptions): FastifyInstance {
  const app: FastifyInstance = fastify({
    serverFactory: (handler) =>
      nodeServer(tls, (request, response) => {
        if (draining.aborted) response.setHeader('connection', 'close');
        (frontOf(front, request) ?? handler)(request, response);
      }),
    rewriteUrl: ({ method, url = '/' }) => (method === 'POST' ? rewritePath(url) : url),
    genReqId: requestIdOf,
    requestIdHeader: false,
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    frameworkErrors: (_error, request, reply) => refuse(request, reply, BAD_REQUEST), // an address that cannot be decoded
    clientErrorHandler: answerBroken,
  });
  app.decorate('noteRefusal', (request: FastifyRequest, refusal: Refusal, error: unknown) => {
    failures.note(failureOf(request, admission, { refusal, error }));
  });
  app.decorateRequest('caller');
  app.decorateRequest('span');
  app.removeAllContentTypeParsers();
  // Named besides the catch-all, because Fastify remembers the parser of a named type only.
  app.addContentTypeParser(['application/json', '*'], ({ caller }: { caller?: Caller }, payload: IncomingMessage, done) => {
    if (caller) readBody(payload, { limit: settings.current.gateway.httpBodyLimitBytes, caller }, done);
    else leaveBody(payload, done);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => refuse(request, reply, known(error) ?? INTERNAL, error));
  app.setNotFoundHandler((request, reply) => {
    refuse(request, reply, admission.limit(admission.addressOf(request.raw)) ?? NOT_FOUND);
    note(accessLog, request, reply);
  });
  return app;
}

/** Where nobody is asked who they are, as in a preflight and where no route is, nothing that is sent is kept. */
function leaveBody(payload: IncomingMessage, done: (error: Error | null) => void): void {
  discardBody(payload);
  done(null);
}

/** Bodies are validated by the schemas of the contracts. Left out, Fastify would load a validator and a serializer that nobody uses. */
function noSchemas(): never {
  throw new TypeError('A route has no schema of its own: what it takes is declared in the contracts.');
}

/** What every route of Fastify shares. */
export function addCommonHooks(app: FastifyInstance, accessLog: AccessLog): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(SECURITY_HEADERS);
    request.span = traceRequest(request, reply);
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (typeof payload === 'string') cutIfStalled(reply.raw, payload.length);
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    note(accessLog, request, reply);
    done();
  });
}

function note(accessLog: AccessLog, request: FastifyRequest, reply: FastifyReply): void {
  const { url } = request.routeOptions;
  const { statusCode: status } = reply.raw;
  const { elapsedTime: ms } = reply;
  durationsFor(request.method, url)(status, ms);
  if (!accessLog.due()) return;
  accessLog.note({ requestId: request.id, verb: request.method, route: url ?? 'none', status, ms });
}

const durations = new Map<string, NoteDuration>();

/** What is no route is whatever a client wrote: it is not remembered by its name. */
function durationsFor(verb: string, route: string | undefined): NoteDuration {
  const key = route === undefined ? 'none' : `${verb} ${route}`;
  let known = durations.get(key);
  if (known === undefined) durations.set(key, (known = durationsOf(route === undefined ? '' : verb, route)));
  return known;
}

const PROTOCOL: HttpOptions = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16_384,
  insecureHTTPParser: false,
  // Some clients offer HTTP/2 with every request; they are answered as if they had not.
  shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
};

function nodeServer(tls: TlsOptions | undefined, handler: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    hideQueryToken(request);
    handler(request, response);
  };
  const server = tls ? createTlsServer({ ...PROTOCOL, ...tls }, listener) : http.createServer(PROTOCOL, listener);
  server.maxHeadersCount = 100;
  server.maxRequestsPerSocket = 10_000;
  return server;
}

/** What was no HTTP, came too slowly, or had too many headers. Nothing of it is repeated. */
function answerBroken(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message] = BROKEN.get(error.code) ?? [400, 'Bad Request'];
  const body = JSON.stringify({ error: message });
  const head = ['connection: close', 'content-type: application/json; charset=utf-8', `content-length: ${body.length}`];
  socket.end(`HTTP/1.1 ${status} ${message}\r\n${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const BROKEN: ReadonlyMap<string, readonly [number, string]> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'Request Timeout']],
  ['HPE_HEADER_OVERFLOW', [431, 'Request Header Fields Too Large']],
]);

/** Lets pages of listed origins ask whether they may use `/api`. */
export function registerPreflight(app: FastifyInstance, admission: Admission): void {
  app.options('/api/*', (request, reply) => preflight(admission, request, reply));
}

function preflight(admission: Admission, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = admission.screen(request.raw);
  if (refusal) return refuse(request, reply, refusal);
  if (request.headers.origin !== undefined) allowOrigin(reply, request.headers.origin);
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'Authorization, Content-Type, Last-Event-ID, Idempotency-Key, X-Request-Id',
      'access-control-max-age': '3600',
    })
    .send();
}

/** What the log says of a request that ended with a refusal. */
function failureOf(request: FastifyRequest, admission: Admission, { refusal, error }: { refusal: Refusal; error: unknown }): Failure {
  const { status, code, message, caller = request.caller } = refusal;
  const { url } = request.routeOptions;
  return {
    requestId: request.id,
    traceparent: request.span?.traceparent ?? traceparentOf(request),
    route: `${request.method} ${url ?? 'none'}`,
    path: url === undefined && code === 'NOT_FOUND' ? request.url.split('?', 1)[0] : undefined,
    status,
    code,
    message,
    ...(error === undefined ? {} : describeError(error)),
    caller,
    address: caller ? undefined : admission.addressOf(request.raw),
  };
}

/** What a client may know of an error: the words we chose for it, or that it was ours. */
function known(error: FastifyError): Refusal | undefined {
  const refusal = knownRefusal(error);
  if (refusal) return refusal;
  const { statusCode } = error;
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined;
  if (statusCode === 404) return NOT_FOUND;
  if (statusCode === 413) return BODY_TOO_LARGE;
  return { ...BAD_REQUEST, status: statusCode };
}
