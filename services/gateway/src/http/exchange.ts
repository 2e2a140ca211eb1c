import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceError } from '@switchyard/contracts';
import { isRefusal, type Admission } from '../auth/admission.ts';
import type { Caller } from '../request/caller.ts';
import type { Answer } from './payload.ts';
import type { AccessLog } from './access-log.ts';
import { isJson, readBody } from '../request/request-body.ts';
import { discardBody } from '../request/discarded-body.ts';
import { describeError, type FailureLog } from '../request/failure-log.ts';
import { VERB } from './pre-fastify-routes.ts';
import { INTERNAL, knownRefusal, NOT_JSON, refuseRaw, type Refusal, type Surface } from '../request/refusal.ts';
import { durationsOf, type NoteDuration } from './request-durations.ts';
import { requestIdOf } from '../request/request-id.ts';
import { cutIfStalled } from './response-timeout.ts';
import { traceparentOf } from '../request/trace.ts';

/** What is the same for every request of a route in front of Fastify. */
export interface ExchangeRoute {
  path: string;
  /** As the log names it. */
  name: string;
  surface: Surface;
  /** Names and values in turn, which every answer has besides those of all answers. */
  headers: readonly string[];
  noteDuration: NoteDuration;
}

export function exchangeRoute(path: string, surface: Surface, headers: Readonly<Record<string, string>>): ExchangeRoute {
  return { path, name: `${VERB} ${path}`, surface, headers: Object.entries(headers).flat(), noteDuration: durationsOf(VERB, path) };
}

/** What exchanges of every route need. */
export interface ExchangeGround {
  admission: Admission;
  accessLog: AccessLog;
  failures: FailureLog;
}

/** A request and the response to it. */
export interface RequestResponse {
  request: IncomingMessage;
  response: ServerResponse;
}

const NONE: readonly string[] = [];
const JSON_TYPE = 'application/json; charset=utf-8';

/** One request in front of Fastify and its answer. A class, because one is made for every call. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Who asks, once that is known. */
  caller: Caller | undefined;
  /** There is an answer, or nobody to answer any more. */
  answered = false;
  readonly #ground: ExchangeGround;
  readonly #route: ExchangeRoute;
  readonly #startedAt = performance.now();

  constructor(ground: ExchangeGround, route: ExchangeRoute, { request, response }: RequestResponse) {
    this.#ground = ground;
    this.#route = route;
    this.request = request;
    this.response = response;
    this.requestId = requestIdOf(request);
  }

  /** The caller's own trace; nothing when it sent none that is valid. */
  get traceparent(): string | undefined {
    return traceparentOf(this.request);
  }

  /** Who asks, if they may: whoever may not is told so, and nothing of the body is read. */
  admit(mayUse: (caller: Caller) => Refusal | undefined): Caller | undefined {
    const caller = this.#ground.admission.admit(this.request);
    if (isRefusal(caller)) return this.refuse(caller);
    this.caller = caller;
    const refusal = mayUse(caller) ?? (isJson(this.request.headers['content-type']) ? undefined : NOT_JSON);
    return refusal === undefined ? caller : this.refuse(refusal);
  }

  /** Hands on the body, whole, or answers why it is not taken. */
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

  /** Calls back when the client leaves before it has its answer; nothing is answered then. */
  onLeft(leave: () => void): void {
    const { response } = this;
    const left = (): void => {
      if (this.answered && response.writableFinished) return;
      this.answered = true;
      leave();
    };
    if (response.destroyed) left();
    else response.on('close', left);
  }

  /** An answer, or nothing to say, at once. */
  write(answer: Answer | undefined, more?: readonly string[]): void {
    if (this.response.destroyed) return; // it left meanwhile
    if (answer === undefined) this.response.writeHead(204, this.headers()).end();
    else this.#begin(answer.length, more).end(answer, 'latin1');
    this.note();
  }

  /** Begins an answer of so many bytes, which are to be written to what it returns. */
  writable(length: number): ServerResponse {
    return this.#begin(length);
  }

  #begin(length: number, more = NONE): ServerResponse {
    cutIfStalled(this.response, length);
    return this.response.writeHead(200, [...this.headers(), 'content-type', JSON_TYPE, 'content-length', String(length), ...more]);
  }

  /** Half of what a short request costs would be spent on setting these one by one. */
  headers(): string[] {
    return [...this.#route.headers, 'cache-control', 'no-store', 'x-request-id', this.requestId, ...this.#standing(this.caller)];
  }

  /** What clients of `/v1` read of their rate, and nobody else. */
  #standing(caller: Caller | undefined): readonly string[] {
    return caller === undefined || this.#route.surface !== 'v1' ? NONE : this.#ground.admission.standing(caller);
  }

  refuse(refusal: Refusal, error?: unknown): undefined {
    this.answered = true;
    this.#noteRefusal(refusal, error);
    discardBody(this.request);
    const { caller = this.caller } = refusal;
    refuseRaw(this.response, refusal, { surface: this.#route.surface, requestId: this.requestId, more: this.#standing(caller) });
    this.note();
  }

  /** What a client may know of an error: the words we chose for it, or that it was ours. */
  fail(error: unknown): void {
    if (this.answered) this.#noteRefusal(INTERNAL, error);
    else this.refuse(knownRefusal(error) ?? INTERNAL, error);
  }

  /** Writes down an error that was told after the answer began. */
  noteFailure(error: ServiceError): void {
    const { code, message } = error;
    const { requestId, traceparent, caller } = this;
    this.#ground.failures.note({ requestId, traceparent, route: this.#route.name, code, message, caller, ...describeError(error) });
  }

  /** Counts it as answered. */
  note(): void {
    const { accessLog } = this.#ground;
    const { statusCode: status } = this.response;
    const ms = performance.now() - this.#startedAt;
    this.#route.noteDuration(status, ms);
    if (!accessLog.due()) return;
    accessLog.note({ requestId: this.requestId, verb: VERB, route: this.#route.path, status, ms });
  }

  #noteRefusal({ status, code, message, caller = this.caller }: Refusal, error: unknown): void {
    const { admission, failures } = this.#ground;
    failures.note({
      requestId: this.requestId,
      traceparent: this.traceparent,
      route: this.#route.name,
      status,
      code,
      message,
      ...(error === undefined ? {} : describeError(error)),
      caller,
      address: caller ? undefined : admission.addressOf(this.request),
    });
  }
}
