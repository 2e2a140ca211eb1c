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

/** Which transport an answer must look like. */
export type Surface = 'rpc' | 'v1' | 'rest';

export function surfaceOf(url: string): Surface {
  if (url.startsWith('/v1/')) return 'v1';
  return url === '/rpc' || url.startsWith('/rpc?') ? 'rpc' : 'rest';
}

/** A request that ends at the edge. */
export interface Refusal {
  status: number;
  message: string;
  code: ErrorCode;
  /** Told in `Retry-After`, and in `error.data` on JSON-RPC. */
  retryAfterMs?: number;
  /** Whether the same request may succeed later, where the code does not say. */
  retryable?: boolean;
  /** So many a minute were exceeded. */
  rate?: boolean;
  /** The field that is wrong; shown on `/v1`. */
  param?: string;
  headers?: Record<string, string>;
  /** The finer word; with it the body of `/v1` is also a problem as RFC 9457 has them, as that of REST always is. */
  problem?: string;
  /** What is wrong with which field. */
  issues?: readonly Issue[];
  /** The body is the sentence alone, and what is wrong with which field: the interface fixes it. */
  bare?: true;
  /** Whom it was said to, where that is known; for the log. */
  caller?: Caller;
}

/** Thrown in a route to end it with that answer. */
export class RefusalError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.message, { cause });
    this.name = 'RefusalError';
    this.refusal = refusal;
  }
}

export function badRequest(message: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT' });
}

export const UNAUTHORIZED: Refusal = {
  status: 401,
  message: 'Unauthorized',
  code: 'UNAUTHENTICATED',
  headers: { 'www-authenticate': 'Bearer realm="switchyard"' },
};
/** It is not known whether the token is good. A 401 would make clients throw a good one away. */
export const UNVOUCHED: Refusal = {
  status: 503,
  message: 'Nothing vouches for tokens at the moment.',
  code: 'UNAVAILABLE',
  retryAfterMs: 1_000,
};
export const INSUFFICIENT_SCOPE: Refusal = { status: 403, message: 'Forbidden: insufficient scope', code: 'PERMISSION_DENIED' };
export const FOREIGN_HOST: Refusal = { status: 403, message: 'Forbidden: host not allowed', code: 'PERMISSION_DENIED' };
export const FOREIGN_ORIGIN: Refusal = { status: 403, message: 'Forbidden: origin not allowed', code: 'PERMISSION_DENIED' };
export const NOT_FOUND: Refusal = { status: 404, message: 'Not Found', code: 'NOT_FOUND' };
export const BODY_TOO_LARGE: Refusal = { status: 413, message: 'Request body too large', code: 'OUT_OF_RANGE' };
export const BODY_IN_CRUMBS: Refusal = { status: 400, message: 'Request body in too many small parts', code: 'INVALID_ARGUMENT' };
export const BODY_BROKEN: Refusal = { status: 400, message: 'Request body broken off', code: 'CANCELLED' };
export const BAD_REQUEST: Refusal = { status: 400, message: 'Bad Request', code: 'INVALID_ARGUMENT' };
export const NOT_JSON: Refusal = { status: 415, message: 'Content-Type must be application/json', code: 'INVALID_ARGUMENT' };
export const UPGRADE_REQUIRED: Refusal = {
  status: 426,
  message: 'Upgrade Required',
  code: 'FAILED_PRECONDITION',
  headers: { upgrade: 'websocket', connection: 'Upgrade, close' },
};
export const TOO_MUCH_UNFINISHED: Refusal = {
  status: 429,
  message: 'Too many unfinished requests at once',
  code: 'RESOURCE_EXHAUSTED',
  retryAfterMs: 1_000,
};
export const INTERNAL: Refusal = { status: 500, message: 'Internal error', code: 'INTERNAL' };

/** Without `retryAfterMs` a retry can never succeed. */
export function rateLimited(retryAfterMs: number | undefined, headers: Record<string, string> = {}): Refusal {
  const refusal: Refusal = { status: 429, message: 'Rate limit exceeded', code: 'RESOURCE_EXHAUSTED', rate: true, headers };
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs };
}

/** A service's error as its status and text, where the route does not fix its own. */
export function refusalOf(error: ServiceError): Refusal {
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

/** What a client may know of an error in the words we chose for it; undefined for what is ours. */
export function knownRefusal(error: unknown): Refusal | undefined {
  if (error instanceof RefusalError) return error.refusal;
  return error instanceof ServiceError ? refusalOf(error) : undefined;
}

/** A key that stands for another request: nothing is wrong with this one but that. */
const UNPROCESSABLE = 422;

/** Answers in the form of the route's transport; `error` is what stood behind it, for the log. */
export function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Refusal, error?: unknown): FastifyReply {
  discardBody(request.raw);
  request.server.noteRefusal(request, refusal, error);
  if (isEventSource(request) && comesLater(refusal)) return comeBack(reply, refusal);
  const body = refusalBody(surfaceOf(request.url), refusal, request.id);
  return reply.code(refusal.status).headers(refusalHeaders(refusal, request.id)).send(body);
}

/** Somebody who reads a stream by EventSource and comes back for the rest of it. */
function isEventSource({ headers, query, method }: FastifyRequest): boolean {
  const accepts = acceptsEvents(headers);
  const twin = (query as Record<string, unknown> | undefined)?.['lastEventId'];
  return method === 'GET' && accepts && (headers['last-event-id'] !== undefined || typeof twin === 'string');
}

/** Whether somebody says that it reads events, as EventSource does. */
export function acceptsEvents({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept.includes(EVENT_STREAM);
}

function comesLater({ status, code, ...refusal }: Refusal): boolean {
  return (status === 503 || status === 429) && isRetryable(code, refusal);
}

const EVENT_STREAM = 'text/event-stream';
const COME_BACK_MS = 3_000;

/** EventSource takes every status but 200 for the end of its stream, and a stream that ends for one to come back to. */
function comeBack(reply: FastifyReply, { retryAfterMs = 0 }: Refusal): FastifyReply {
  const afterMs = Math.max(COME_BACK_MS, Math.ceil(retryAfterMs));
  return reply
    .code(200)
    .headers({ ...SECURITY_HEADERS, 'content-type': EVENT_STREAM, 'cache-control': 'no-store' })
    .send(`retry: ${afterMs}\n\n`);
}

/** The same where there is no Fastify around it. */
export function refuseRaw(
  response: ServerResponse,
  refusal: Refusal,
  { surface, requestId, more = [] }: { surface: Surface; requestId: string; more?: readonly string[] },
): void {
  const body = refusalBody(surface, refusal, requestId);
  const headers = { ...refusalHeaders(refusal, requestId), 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(refusal.status, [...Object.entries(headers).flat(), ...more]).end(body);
}

function refusalHeaders(refusal: Refusal, requestId: string): Record<string, string> {
  const { status, code, headers, retryAfterMs } = refusal;
  return {
    ...headers,
    ...(retryAfterMs === undefined ? {} : { 'retry-after': retryAfterSeconds(retryAfterMs) }),
    ...(isRepeated(status) && !isRetryable(code, refusal) ? { 'x-should-retry': 'false' } : {}),
    ...SECURITY_HEADERS,
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  };
}

/** What clients make again by themselves unless they are told not to. */
function isRepeated(status: number): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 429;
}

export function retryAfterSeconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1_000)));
}

function refusalBody(surface: Surface, refusal: Refusal, requestId: string): string {
  const { status, message, param = null, problem, bare, issues } = refusal;
  if (surface === 'v1') {
    const error = { message, type: openAiErrorType(status), param, code: null };
    return JSON.stringify({ error, ...(problem === undefined ? {} : problemOf(refusal, requestId)) });
  }
  if (surface === 'rpc') return ENVELOPED.has(status) ? envelope(refusal, requestId) : JSON.stringify({ error: message });
  return JSON.stringify({ error: message, ...(bare ? { issues } : problemOf(refusal, requestId)) });
}

/** 499, the one status we use that has no name in the registry. */
const LEFT = 'Client Closed Request';

/** What a program reads of a problem, beside the error that every reader knows. */
function problemOf({ problem: reason, status, message, code, issues }: Refusal, requestId: string): Record<string, unknown> {
  return { type: 'about:blank', title: http.STATUS_CODES[status] ?? LEFT, status, detail: message, code, reason, requestId, issues };
}

/** Statuses that `/rpc` answers as JSON-RPC, because they are about the client or the server. Others are about the HTTP request. */
const ENVELOPED: ReadonlySet<number> = new Set([401, 403, 429, 500, 503]);

function envelope(refusal: Refusal, requestId: string): string {
  const { code, message, rate = false } = refusal;
  const data = errorData({ code, details: refusal }, requestId);
  return JSON.stringify({ jsonrpc: '2.0', error: { code: jsonRpcCode({ code, details: { rate } }), message, data }, id: null });
}
