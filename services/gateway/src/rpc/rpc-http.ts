import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import type { Settings } from '@switchyard/service-kit';
import type { AccessLog } from '../server/access-log.ts';
import type { Answer } from './answers.ts';
import { isJson, readBody } from '../server/body.ts';
import { discardBody } from '../server/discard-body.ts';
import type { Origin } from './in-flight.ts';
import type { Dispatcher } from './dispatch.ts';
import { gather, type GatherOptions } from './gather.ts';
import type { PiecedAnswer } from './large-answers.ts';
import { isRefusal, messageLimit, type Admission } from '../admission/admission.ts';
import { describeError, type FailureLog } from '../server/failure-log.ts';
import { SECURITY_HEADERS } from '../server/headers.ts';
import { INTERNAL, NOT_JSON, RefusalError, refuseRpc, type Refusal } from '../server/refusal.ts';
import { durationsOf } from '../server/request-durations.ts';
import { requestIdOf } from '../server/request-id.ts';
import { cutIfStalled } from '../server/stall.ts';
import type { Caller } from '../admission/tokens.ts';
import { traceparentOf } from '../server/trace.ts';

const VERB = 'POST';
const PATH = '/rpc';
const ROUTE = `${VERB} ${PATH}`;
const noteDuration = durationsOf(VERB, PATH);

/** What the edge answers alone comes one by one, as requests are read: it is written at the end of the turn. */
const HERE: GatherOptions = { defer: setImmediate, most: 64 };
/** What comes over the bus comes together: it is written when its messages are read, and in parts, so that clients go on meanwhile. */
const FORWARDED: GatherOptions = { defer: (handOn) => process.nextTick(handOn), most: 8 };

/**
 * No page can come here with a token by following a link, so what is answered is never a document: of the security headers, those
 * that speak to documents stay with the refusals.
 */
const [NOSNIFF, NOSNIFF_VALUE] = ['x-content-type-options', SECURITY_HEADERS['x-content-type-options']] as const;

/** Of a large answer no more is fetched than the client takes. */
const ONE_PIECE = { objectMode: true, highWaterMark: 1 };

/** Answers a `POST /rpc`. Never throws. */
export type RpcHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface RpcHandlerOptions {
  settings: Settings<'gateway'>;
  admission: Admission;
  dispatcher: Dispatcher;
  accessLog: AccessLog;
  failures: FailureLog;
}

/** Whether it is seen at a glance. Rare spellings, as with a host in the address, take the way through Fastify. */
export function isRpc({ method, url = '' }: IncomingMessage): boolean {
  return method === VERB && (url === PATH || url.startsWith(`${PATH}?`));
}

/**
 * JSON-RPC over `POST /rpc`: 200 for every answer, whatever it says; 204 when there is nothing to say. Served in front of Fastify,
 * whose routing, hooks and objects are a fifth of what a short call costs the edge.
 */
export function createRpcHandler(options: RpcHandlerOptions): RpcHandler {
  const { settings, admission } = options;
  const write = (exchange: Exchange): void => exchange.write();
  const serving: Serving = { ...options, sendHere: gather(HERE, write), sendForwarded: gather(FORWARDED, write) };
  return (request, response) => {
    const exchange = new Exchange(serving, request, response);
    try {
      const caller = admission.admit(request);
      if (isRefusal(caller)) return exchange.refuse(caller);
      if (!isJson(request.headers['content-type'])) return exchange.refuse(NOT_JSON);
      readBody(request, { limit: messageLimit(caller, settings.current.gateway.httpBodyLimitBytes), caller }, (error, body) => {
        if (body) exchange.run(caller, body);
        else exchange.fail(error);
      });
    } catch (error) {
      exchange.fail(error);
    }
  };
}

/** The same as a route, for what `isRpc` does not see. */
export function registerRpc(app: FastifyInstance, rpc: RpcHandler): void {
  const handOver: onRequestHookHandler = (request, reply) => {
    reply.hijack();
    rpc(request.raw, reply.raw);
  };
  app.post(PATH, { onRequest: handOver }, () => undefined);
}

interface Serving extends RpcHandlerOptions {
  /** Writes an answer that was made here. */
  sendHere(exchange: Exchange): void;
  /** Writes one that came over the bus. */
  sendForwarded(exchange: Exchange): void;
}

/** One request and its answer. A class, because one is made for every call. */
class Exchange {
  readonly #serving: Serving;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #startedAt = performance.now();
  #forwarded = false;
  #answered = false;
  #answer: Answer | undefined;

  constructor(serving: Serving, request: IncomingMessage, response: ServerResponse) {
    this.#serving = serving;
    this.#request = request;
    this.#response = response;
    this.#requestId = requestIdOf(request);
  }

  run(caller: Caller, body: Buffer): void {
    const from: Origin = { caller, requestId: this.#requestId, route: ROUTE, traceparent: traceparentOf(this.#request) };
    const key = this.#request.headers['idempotency-key'];
    if (typeof key === 'string') from.idempotencyKey = key;
    try {
      const { admission, dispatcher } = this.#serving;
      const envelope = dispatcher.read(body);
      const refusal = Array.isArray(envelope) ? admission.limitBatch(caller.key, envelope.length) : undefined;
      if (refusal) return this.refuse({ ...refusal, caller });
      const onAnswer = (answer: Answer | undefined): void => {
        if (this.#answered) return;
        this.#answered = true;
        this.#answer = answer;
        if (this.#forwarded) this.#serving.sendForwarded(this);
        else this.#serving.sendHere(this);
      };
      const cancel = dispatcher.run(envelope, from, onAnswer, (pieces) => void this.#writePieces(pieces));
      if (this.#answered) return;
      this.#forwarded = true;
      this.#response.on('close', () => {
        if (this.#answered && this.#response.writableFinished) return;
        this.#answered = true;
        cancel();
      });
    } catch (error) {
      this.fail(error);
    }
  }

  write(): void {
    const response = this.#response;
    if (response.destroyed) return; // it left meanwhile
    const answer = this.#answer;
    if (answer === undefined) response.writeHead(204, this.#headers()).end();
    else this.#begin(answer.length).end(answer, 'latin1');
    this.#note();
  }

  /** No faster than it is read. What breaks off is a broken connection: nobody takes a part of it for the whole. */
  async #writePieces({ length, pieces }: PiecedAnswer): Promise<void> {
    this.#answered = true;
    try {
      await pipeline(Readable.from(pieces, ONE_PIECE), this.#begin(length));
    } catch (error) {
      if (error instanceof ServiceError) this.#noteRefusal(INTERNAL, error);
    }
    this.#note();
  }

  #begin(length: number): ServerResponse {
    cutIfStalled(this.#response, length);
    const headers = [...this.#headers(), 'content-type', 'application/json; charset=utf-8', 'content-length', String(length)];
    return this.#response.writeHead(200, headers);
  }

  /** Half of what a short request costs would be spent on setting these one by one. */
  #headers(): string[] {
    return [NOSNIFF, NOSNIFF_VALUE, 'cache-control', 'no-store', 'x-request-id', this.#requestId];
  }

  refuse(refusal: Refusal, error?: unknown): void {
    this.#answered = true;
    this.#noteRefusal(refusal, error);
    discardBody(this.#request);
    refuseRpc(this.#response, refusal, this.#requestId);
    this.#note();
  }

  /** What a client may know of an error: the words we chose for it, or that it was ours. */
  fail(error: unknown): void {
    if (error instanceof RefusalError) return this.refuse(error.refusal);
    if (this.#answered) this.#noteRefusal(INTERNAL, error);
    else this.refuse(INTERNAL, error);
  }

  #noteRefusal({ status, code, message, caller }: Refusal, error: unknown): void {
    const { admission, failures } = this.#serving;
    failures.note({
      requestId: this.#requestId,
      route: ROUTE,
      status,
      code,
      message,
      ...(error === undefined ? {} : describeError(error)),
      caller,
      address: caller ? undefined : admission.addressOf(this.#request),
    });
  }

  #note(): void {
    const { accessLog } = this.#serving;
    const { statusCode: status } = this.#response;
    const ms = performance.now() - this.#startedAt;
    noteDuration(status, ms);
    if (!accessLog.due()) return;
    accessLog.note({ requestId: this.#requestId, verb: VERB, route: PATH, status, ms });
  }
}
