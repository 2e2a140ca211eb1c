import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  errorData,
  httpStatus,
  isRetryable,
  jsonRpcCode,
  openAiErrorType,
  ServiceError,
  type ErrorCode,
  type Issue,
} from '@switchyard/contracts';
import { http } from '@switchyard/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from './caller.ts';
import { discardBody } from './discarded-body.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** The error format of a route. */
export type Surface = 'rpc' | 'v1' | 'rest';

export function getSurface(url: string): Surface {
  if (url.startsWith('/v1/')) return 'v1';
  return url === '/rpc' || url.startsWith('/rpc?') ? 'rpc' : 'rest';
}

/** An error response of the gateway itself. */
export interface Refusal {
  status: number;
  message: string;
  code: ErrorCode;
  /** Sent as `Retry-After`, and in `error.data` of JSON-RPC. */
  retryAfterMs?: number;
  /** Whether the same request may succeed later, if the code does not determine it. */
  retryable?: boolean;
  /** Whether a rate limit was exceeded. */
  rate?: boolean;
  /** The invalid field, for `/v1`. */
  param?: string;
  headers?: Record<string, string>;
  /** The reason. With it the body on `/v1` is an RFC 9457 problem too; on REST routes it always is. */
  problem?: string;
  /** The invalid fields. */
  issues?: readonly Issue[];
  /** Restricts the body to `error` and `issues`, as the interface of webhooks requires. */
  bare?: true;
  /** The caller, for the log. */
  caller?: Caller;
}

/** Thrown by a route to return this refusal. */
export class RefusalError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.message, { cause });
    this.name = 'RefusalError';
    this.refusal = refusal;
  }
}

export function createBadRequest(message: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT' });
}

export const UNAUTHORIZED: Refusal = {
  status: 401,
  message: 'Unauthorized',
  code: 'UNAUTHENTICATED',
  headers: { 'www-authenticate': 'Bearer realm="switchyard"' },
};
/** Returned instead of 401, because a 401 makes clients discard a token that may be valid. */
export const TOKENS_UNVERIFIABLE: Refusal = {
  status: 503,
  message: 'Tokens cannot be verified at the moment.',
  code: 'UNAVAILABLE',
  retryAfterMs: 1_000,
};
export const INSUFFICIENT_SCOPE: Refusal = { status: 403, message: 'Forbidden: insufficient scope', code: 'PERMISSION_DENIED' };
export const CONFLICTING_HOST: Refusal = {
  status: 400,
  message: 'Bad Request: the request names two hosts. Send one Host header that matches the target.',
  code: 'INVALID_ARGUMENT',
};
export const HOST_NOT_ALLOWED: Refusal = { status: 403, message: 'Forbidden: host not allowed', code: 'PERMISSION_DENIED' };
export const ORIGIN_NOT_ALLOWED: Refusal = { status: 403, message: 'Forbidden: origin not allowed', code: 'PERMISSION_DENIED' };
export const NOT_FOUND: Refusal = { status: 404, message: 'Not Found', code: 'NOT_FOUND' };
export const BODY_TOO_LARGE: Refusal = { status: 413, message: 'Request body too large', code: 'OUT_OF_RANGE' };
export const TOO_MANY_BODY_PARTS: Refusal = {
  status: 400,
  message: 'Request body arrived in too many small parts',
  code: 'INVALID_ARGUMENT',
};
export const INCOMPLETE_BODY: Refusal = { status: 400, message: 'Request body incomplete', code: 'CANCELLED' };
export const BAD_REQUEST: Refusal = { status: 400, message: 'Bad Request', code: 'INVALID_ARGUMENT' };
export const NOT_JSON: Refusal = { status: 415, message: 'Content-Type must be application/json', code: 'INVALID_ARGUMENT' };
export const UPGRADE_REQUIRED: Refusal = {
  status: 426,
  message: 'Upgrade Required',
  code: 'FAILED_PRECONDITION',
  headers: { upgrade: 'websocket', connection: 'Upgrade, close' },
};
export const TOO_MANY_INCOMPLETE_BYTES: Refusal = {
  status: 429,
  message: 'Too many incomplete requests at once',
  code: 'RESOURCE_EXHAUSTED',
  retryAfterMs: 1_000,
};
export const TOO_MANY_CONNECTIONS: Refusal = {
  status: 429,
  message: 'Too many connections of this token at once. Close some, or reuse them.',
  code: 'RESOURCE_EXHAUSTED',
  retryAfterMs: 1_000,
  headers: { connection: 'close' },
};
export const INTERNAL: Refusal = { status: 500, message: 'Internal error', code: 'INTERNAL' };

/** Without `retryAfterMs` a retry can never succeed. */
export function createRateLimitRefusal(retryAfterMs: number | undefined, headers: Record<string, string> = {}): Refusal {
  const refusal: Refusal = { status: 429, message: 'Rate limit exceeded', code: 'RESOURCE_EXHAUSTED', rate: true, headers };
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs };
}

/** Converts the error of a service to a refusal. */
export function toRefusal(error: ServiceError): Refusal {
  const { retryAfterMs, reason, issues } = error.details;
  const mismatch = reason === 'IDEMPOTENCY_MISMATCH';
  return {
    status: mismatch ? UNPROCESSABLE : httpStatus(error.code),
    message: error.message,
    code: error.code,
    retryable: error.retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(mismatch ? { problem: reason } : {}),
    ...(issues === undefined ? {} : { issues }),
  };
}

/** The refusal of a RefusalError or ServiceError; undefined for a defect. */
export function findRefusal(error: unknown): Refusal | undefined {
  if (error instanceof RefusalError) return error.refusal;
  return error instanceof ServiceError ? toRefusal(error) : undefined;
}

/** For an idempotency key that was used for another request. */
const UNPROCESSABLE = 422;

/** Sends a refusal in the format of the route; `error` is its cause, for the log. */
export function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Refusal, error?: unknown): FastifyReply {
  discardBody(request.raw);
  request.server.logRefusal(request, refusal, error);
  if (isEventSource(request) && isTemporary(refusal)) return sendReconnectDelay(reply, refusal);
  const body = createRefusalBody(getSurface(request.url), refusal, request.id);
  return reply.code(refusal.status).headers(createRefusalHeaders(refusal, request.id)).send(body);
}

/** Whether an EventSource client reconnects to continue a stream. */
function isEventSource({ headers, query, method }: FastifyRequest): boolean {
  const accepts = acceptsEvents(headers);
  const queryEventId = (query as Record<string, unknown> | undefined)?.['lastEventId'];
  return method === 'GET' && accepts && (headers['last-event-id'] !== undefined || typeof queryEventId === 'string');
}

/** Whether the client accepts server-sent events, as EventSource does. */
export function acceptsEvents({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept.includes(EVENT_STREAM);
}

function isTemporary({ status, code, ...refusal }: Refusal): boolean {
  return (status === 503 || status === 429) && isRetryable(code, refusal);
}

const EVENT_STREAM = 'text/event-stream';
const MIN_RECONNECT_MS = 3_000;

/** EventSource gives up on any status but 200, and reconnects after a stream that ends. So the delay is sent as a stream. */
function sendReconnectDelay(reply: FastifyReply, { retryAfterMs = 0 }: Refusal): FastifyReply {
  const afterMs = Math.max(MIN_RECONNECT_MS, Math.ceil(retryAfterMs));
  return reply
    .code(200)
    .headers({ ...SECURITY_HEADERS, 'content-type': EVENT_STREAM, 'cache-control': 'no-store' })
    .send(`retry: ${afterMs}\n\n`);
}

/** Sends a refusal on a pre-Fastify route. */
export function refuseRaw(
  response: ServerResponse,
  refusal: Refusal,
  { surface, requestId, extraHeaders = [] }: { surface: Surface; requestId: string; extraHeaders?: readonly string[] },
): void {
  const body = createRefusalBody(surface, refusal, requestId);
  const headers = { ...createRefusalHeaders(refusal, requestId), 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(refusal.status, [...Object.entries(headers).flat(), ...extraHeaders]).end(body);
}

function createRefusalHeaders(refusal: Refusal, requestId: string): Record<string, string> {
  const { status, code, headers, retryAfterMs } = refusal;
  return {
    ...headers,
    ...(retryAfterMs === undefined ? {} : { 'retry-after': toRetryAfterSeconds(retryAfterMs) }),
    ...(isRetriedByClients(status) && !isRetryable(code, refusal) ? { 'x-should-retry': 'false' } : {}),
    ...SECURITY_HEADERS,
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  };
}

/** Whether SDK clients retry this status by default. */
function isRetriedByClients(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 429;
}

export function toRetryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}

function createRefusalBody(surface: Surface, refusal: Refusal, requestId: string): string {
  const { status, message, param = null, problem, bare, issues } = refusal;
  if (surface === 'v1') {
    const error = { message, type: openAiErrorType(status), param, code: null };
    return JSON.stringify({ error, ...(problem === undefined ? {} : createProblem(refusal, requestId)) });
  }
  if (surface === 'rpc') return JSON_RPC_STATUSES.has(status) ? createJsonRpcError(refusal, requestId) : JSON.stringify({ error: message });
  return JSON.stringify({ error: message, ...(bare ? { issues } : createProblem(refusal, requestId)) });
}

/** The title of status 499, which the IANA registry does not contain. */
const CLIENT_CLOSED_REQUEST = 'Client Closed Request';

/** The RFC 9457 members next to `error`. */
function createProblem({ problem: reason, status, message, code, issues }: Refusal, requestId: string): Record<string, unknown> {
  return {
    type: 'about:blank',
    title: http.STATUS_CODES[status] ?? CLIENT_CLOSED_REQUEST,
    status,
    detail: message,
    code,
    reason,
    requestId,
    issues,
  };
}

/** Statuses that `/rpc` returns as JSON-RPC errors. Other statuses concern the HTTP request. */
const JSON_RPC_STATUSES: ReadonlySet<number> = new Set([401, 403, 429, 500, 503]);

function createJsonRpcError(refusal: Refusal, requestId: string): string {
  const { code, message, rate = false } = refusal;
  const data = errorData({ code, details: refusal }, requestId);
  return JSON.stringify({ jsonrpc: '2.0', error: { code: jsonRpcCode({ code, details: { rate } }), message, data }, id: null });
}
