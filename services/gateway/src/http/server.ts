import type { IncomingMessage, Server, ServerOptions as HttpOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { Socket } from 'node:net';
import { http, type Settings } from '@switchyard/service-kit';
import { fastify, type ConnectionError, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import type { AccessLog } from './access-log.ts';
import { addCorsHeaders } from './cors.ts';
import { readBody } from '../request/request-body.ts';
import type { Admission } from '../auth/admission.ts';
import { discardBody } from '../request/discarded-body.ts';
import { describeError, type Failure, type FailureLog } from '../request/failure-log.ts';
import { SECURITY_HEADERS } from '../request/security-headers.ts';
import { hasConflictingAuthority } from '../auth/request-authority.ts';
import { hideQueryToken } from '../auth/query-token.ts';
import { rewriteLenientPath } from '../request/lenient-path.ts';
import { createDurationRecorder, type RecordDuration } from './request-durations.ts';
import { getRequestId } from '../request/request-id.ts';
import { findRequestHandler, type PreFastifyRoute } from './pre-fastify-routes.ts';
import { getTraceparent, startRequestSpan } from '../request/trace.ts';
import {
  BAD_REQUEST,
  BODY_TOO_LARGE,
  CONFLICTING_HOST,
  INTERNAL,
  findRefusal,
  getSurface,
  NOT_FOUND,
  refuse,
  refuseRaw,
  type Refusal,
} from '../request/refusal.ts';

export interface ServerOptions {
  settings: Settings<'gateway'>;
  admission: Admission;
  accessLog: AccessLog;
  failures: FailureLog;
  /** Routes that are handled before Fastify. */
  preFastifyRoutes: readonly PreFastifyRoute[];
  /** Maps the path of a `POST` to its route. */
  rewritePath: (url: string) => string;
  /** While aborted, each response closes its connection. */
  draining: AbortSignal;
  /** Options of a TLS listener. */
  tls?: TlsOptions | undefined;
}

/** Creates the HTTP server with request ids, protocol limits, raw bodies, headers, error handling and the access log. */
export function createHttpServer({
  settings,
  admission,
  accessLog,
  failures,
  preFastifyRoutes,
  rewritePath,
  draining,
  tls,
}: ServerOptions): FastifyInstance {
  const app: FastifyInstance = fastify({
    serverFactory: (handler) =>
      createNodeServer(tls, (request, response) => {
        if (draining.aborted) response.setHeader('connection', 'close');
        addCorsHeaders(admission, request, response);
        if (hasConflictingAuthority(request)) return refuseConflictingHost({ failures, admission }, request, response);
        (findRequestHandler(preFastifyRoutes, request) ?? handler)(request, response);
      }),
    rewriteUrl: ({ method, url = '/' }) => (method === 'POST' ? rewritePath(url) : url),
    genReqId: getRequestId,
    requestIdHeader: false,
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    schemaController: { compilersFactory: { buildValidator: rejectRouteSchema, buildSerializer: rejectRouteSchema } },
    frameworkErrors: (_error, request, reply) => refuse(request, reply, BAD_REQUEST), // a path that cannot be decoded
    clientErrorHandler: respondToClientError,
  });
  app.decorate('logRefusal', (request: FastifyRequest, refusal: Refusal, error: unknown) => {
    failures.log(createFailure(request, admission, { refusal, error }));
  });
  app.decorateRequest('caller');
  app.decorateRequest('span');
  app.removeAllContentTypeParsers();
  // JSON is named besides the catch-all, because Fastify caches only the parser of a named type.
  app.addContentTypeParser(['application/json', '*'], ({ caller }: { caller?: Caller }, payload: IncomingMessage, done) => {
    if (caller) readBody(payload, { limit: settings.current.gateway.httpBodyLimitBytes, caller }, done);
    else skipBody(payload, done);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => refuse(request, reply, toKnownRefusal(error) ?? INTERNAL, error));
  app.setNotFoundHandler((request, reply) => {
    refuse(request, reply, admission.limitRequest(admission.getClientAddress(request.raw)) ?? NOT_FOUND);
    logRequest(accessLog, request, reply);
  });
  return app;
}

function refuseConflictingHost(
  { failures, admission }: Pick<ServerOptions, 'failures' | 'admission'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const requestId = getRequestId(request);
  const { status, code, message } = CONFLICTING_HOST;
  failures.log({ requestId, route: `${request.method} any`, status, code, message, address: admission.getClientAddress(request) });
  discardBody(request);
  refuseRaw(response, CONFLICTING_HOST, { surface: getSurface(request.url ?? ''), requestId });
}

/** Discards the body of a request without authentication, such as a preflight or an unknown route. */
function skipBody(payload: IncomingMessage, done: (error: Error | null) => void): void {
  discardBody(payload);
  done(null);
}

/** Prevents Fastify from loading its validator and serializer. Bodies are validated by the schemas of the contracts. */
function rejectRouteSchema(): never {
  throw new TypeError('Routes have no Fastify schema. Declare their bodies in the contracts.');
}

/** Adds the hooks of every Fastify route. */
export function addCommonHooks(app: FastifyInstance, accessLog: AccessLog): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(SECURITY_HEADERS);
    request.span = startRequestSpan(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    logRequest(accessLog, request, reply);
    done();
  });
}

function logRequest(accessLog: AccessLog, request: FastifyRequest, reply: FastifyReply): void {
  const { url } = request.routeOptions;
  const { statusCode: status } = reply.raw;
  const { elapsedTime: ms } = reply;
  getDurationRecorder(request.method, url)(status, ms);
  if (!accessLog.shouldLog()) return;
  accessLog.log({ requestId: request.id, verb: request.method, route: url ?? 'none', status, ms });
}

const durationRecorders = new Map<string, RecordDuration>();

/** Requests without a route share one recorder, because their paths are arbitrary. */
function getDurationRecorder(verb: string, route: string | undefined): RecordDuration {
  const key = route === undefined ? 'none' : `${verb} ${route}`;
  let recorder = durationRecorders.get(key);
  if (recorder === undefined) durationRecorders.set(key, (recorder = createDurationRecorder(route === undefined ? '' : verb, route)));
  return recorder;
}

const HTTP_OPTIONS: HttpOptions = {
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  insecureHTTPParser: false,
  // Some clients offer HTTP/2 with every request. The offer is ignored.
  shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
};

function createNodeServer(tls: TlsOptions | undefined, handler: (request: IncomingMessage, response: ServerResponse) => void): Server {
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    hideQueryToken(request);
    rewriteLenientPath(request);
    handler(request, response);
  };
  const server = tls ? createTlsServer({ ...HTTP_OPTIONS, ...tls }, listener) : http.createServer(HTTP_OPTIONS, listener);
  server.maxHeadersCount = 100;
  server.maxRequestsPerSocket = 10_000;
  return server;
}

/** Responds to malformed HTTP, timeouts and oversized headers. The response repeats nothing of the request. */
function respondToClientError(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message] = CLIENT_ERRORS.get(error.code) ?? [400, 'Bad Request'];
  const body = JSON.stringify({ error: message });
  const head = ['connection: close', 'content-type: application/json; charset=utf-8', `content-length: ${body.length}`];
  socket.end(`HTTP/1.1 ${status} ${message}\r\n${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const CLIENT_ERRORS: ReadonlyMap<string, readonly [number, string]> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', [408, 'Request Timeout']],
  ['HPE_HEADER_OVERFLOW', [431, 'Request Header Fields Too Large']],
]);

/** The log entry of a refusal. */
function createFailure(request: FastifyRequest, admission: Admission, { refusal, error }: { refusal: Refusal; error: unknown }): Failure {
  const { status, code, message, caller = request.caller } = refusal;
  const { url } = request.routeOptions;
  return {
    requestId: request.id,
    traceparent: request.span?.traceparent ?? getTraceparent(request),
    route: `${request.method} ${url ?? 'none'}`,
    path: url === undefined && code === 'NOT_FOUND' ? request.url.split('?', 1)[0] : undefined,
    status,
    code,
    message,
    ...(error === undefined ? {} : describeError(error)),
    caller,
    address: caller ? undefined : admission.getClientAddress(request.raw),
  };
}

/** The refusal for an error of a route or of Fastify; undefined for a defect. */
function toKnownRefusal(error: FastifyError): Refusal | undefined {
  const refusal = findRefusal(error);
  if (refusal) return refusal;
  const { statusCode } = error;
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined;
  if (statusCode === 404) return NOT_FOUND;
  if (statusCode === 413) return BODY_TOO_LARGE;
  return { ...BAD_REQUEST, status: statusCode };
}
