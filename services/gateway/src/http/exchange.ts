import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceError } from '@switchyard/contracts';
import { isRefusal, type Admission } from '../auth/admission.ts';
import type { Caller } from '../request/caller.ts';
import type { Payload } from './payload.ts';
import type { AccessLog } from './access-log.ts';
import { isJson, readBody } from '../request/request-body.ts';
import { discardBody } from '../request/discarded-body.ts';
import { describeError, type FailureLog } from '../request/failure-log.ts';
import { METHOD } from './pre-fastify-routes.ts';
import { INTERNAL, findRefusal, NOT_JSON, refuseRaw, type Refusal, type Surface } from '../request/refusal.ts';
import { createDurationRecorder, type RecordDuration } from './request-durations.ts';
import { getRequestId } from '../request/request-id.ts';
import { getTraceparent } from '../request/trace.ts';

/** The constants of a pre-Fastify route. */
export interface ExchangeRoute {
  path: string;
  /** The name in the log. */
  name: string;
  surface: Surface;
  /** Extra headers of every response, as alternating names and values. */
  headers: readonly string[];
  recordDuration: RecordDuration;
}

export function createExchangeRoute(path: string, surface: Surface, headers: Readonly<Record<string, string>>): ExchangeRoute {
  return {
    path,
    name: `${METHOD} ${path}`,
    surface,
    headers: Object.entries(headers).flat(),
    recordDuration: createDurationRecorder(METHOD, path),
  };
}

/** The dependencies of exchanges. */
export interface ExchangeDeps {
  admission: Admission;
  accessLog: AccessLog;
  failures: FailureLog;
}

/** A request and the response to it. */
export interface RequestResponse {
  request: IncomingMessage;
  response: ServerResponse;
}

const NO_HEADERS: readonly string[] = [];
const JSON_TYPE = 'application/json; charset=utf-8';

/** One request on a pre-Fastify route and its response. It is a class, because one is created per call. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Set after authentication. */
  caller: Caller | undefined;
  /** Whether a response was started or the client disconnected. */
  isAnswered = false;
  readonly #deps: ExchangeDeps;
  readonly #route: ExchangeRoute;
  readonly #startedAt = performance.now();

  constructor(deps: ExchangeDeps, route: ExchangeRoute, { request, response }: RequestResponse) {
    this.#deps = deps;
    this.#route = route;
    this.request = request;
    this.response = response;
    this.requestId = getRequestId(request);
  }

  /** The valid `traceparent` of the caller. */
  get traceparent(): string | undefined {
    return getTraceparent(this.request);
  }

  /** Returns the caller, or sends the refusal before the body is read. */
  admit(checkAccess: (caller: Caller) => Refusal | undefined): Caller | undefined {
    const caller = this.#deps.admission.admit(this.request);
    if (isRefusal(caller)) return this.refuse(caller);
    this.caller = caller;
    const refusal = checkAccess(caller) ?? (isJson(this.request.headers['content-type']) ? undefined : NOT_JSON);
    return refusal === undefined ? caller : this.refuse(refusal);
  }

  /** Reads the body and passes it on, or sends the refusal. */
  read(caller: Caller, limit: number, onBody: (body: Buffer) => void): void {
    const onRead = (error: Error | null, body?: Buffer): void => {
      if (body === undefined) return this.fail(error);
      try {
        onBody(body);
      } catch (thrown) {
        this.fail(thrown);
      }
    };
    readBody(this.request, { limit, caller }, onRead);
  }

  /** Calls back when the client disconnects before the response is sent. */
  onDisconnect(cancel: () => void): void {
    const { response } = this;
    const handleClose = (): void => {
      if (this.isAnswered && response.writableFinished) return;
      this.isAnswered = true;
      cancel();
    };
    if (response.destroyed) handleClose();
    else response.on('close', handleClose);
  }

  /** Writes a response with this payload, or 204 without one. */
  write(answer: Payload | undefined, extraHeaders?: readonly string[]): void {
    if (this.response.destroyed) return; // the client disconnected
    if (answer === undefined) this.response.writeHead(204, this.headers()).end();
    else this.#begin(answer.length, extraHeaders).end(answer, 'latin1');
    this.logAccess();
  }

  /** Starts a response of `length` bytes and returns the stream for them. */
  startBody(length: number): ServerResponse {
    return this.#begin(length);
  }

  #begin(length: number, extraHeaders = NO_HEADERS): ServerResponse {
    return this.response.writeHead(200, [...this.headers(), 'content-type', JSON_TYPE, 'content-length', String(length), ...extraHeaders]);
  }

  /** Headers as one array. Setting them one by one would double the cost of a short request. */
  headers(): string[] {
    return [...this.#route.headers, 'cache-control', 'no-store', 'x-request-id', this.requestId, ...this.#getRateLimitHeaders(this.caller)];
  }

  /** The rate limit headers of `/v1`. */
  #getRateLimitHeaders(caller: Caller | undefined): readonly string[] {
    return caller === undefined || this.#route.surface !== 'v1' ? NO_HEADERS : this.#deps.admission.getRateLimitHeaders(caller);
  }

  refuse(refusal: Refusal, error?: unknown): undefined {
    this.isAnswered = true;
    this.#logRefusal(refusal, error);
    discardBody(this.request);
    const { caller = this.caller } = refusal;
    refuseRaw(this.response, refusal, {
      surface: this.#route.surface,
      requestId: this.requestId,
      extraHeaders: this.#getRateLimitHeaders(caller),
    });
    this.logAccess();
  }

  /** Sends the refusal of an error, or a generic one for a defect. */
  fail(error: unknown): void {
    if (this.isAnswered) this.#logRefusal(INTERNAL, error);
    else this.refuse(findRefusal(error) ?? INTERNAL, error);
  }

  /** Logs an error that was sent after the response had started. */
  logFailure(error: ServiceError): void {
    const { code, message } = error;
    const { requestId, traceparent, caller } = this;
    this.#deps.failures.log({ requestId, traceparent, route: this.#route.name, code, message, caller, ...describeError(error) });
  }

  /** Records the duration and the access log line. */
  logAccess(): void {
    const { accessLog } = this.#deps;
    const { statusCode: status } = this.response;
    const ms = performance.now() - this.#startedAt;
    this.#route.recordDuration(status, ms);
    if (!accessLog.shouldLog()) return;
    accessLog.log({ requestId: this.requestId, verb: METHOD, route: this.#route.path, status, ms });
  }

  #logRefusal({ status, code, message, caller = this.caller }: Refusal, error: unknown): void {
    const { admission, failures } = this.#deps;
    failures.log({
      requestId: this.requestId,
      traceparent: this.traceparent,
      route: this.#route.name,
      status,
      code,
      message,
      ...(error === undefined ? {} : describeError(error)),
      caller,
      address: caller ? undefined : admission.getClientAddress(this.request),
    });
  }
}
