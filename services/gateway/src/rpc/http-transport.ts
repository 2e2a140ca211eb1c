import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { KeyHeader, RpcAnswer, RpcBody } from '../openapi/schemas.ts';
import { messageLimit } from '../auth/admission.ts';
import type { Caller } from '../request/caller.ts';
import { Exchange, exchangeRoute, type ExchangeGround, type RequestResponse } from '../http/exchange.ts';
import type { FrontRoute } from '../http/pre-fastify-routes.ts';
import { SECURITY_HEADERS } from '../request/security-headers.ts';
import type { Answer } from '../http/payload.ts';
import type { Dispatcher } from './dispatcher.ts';
import { FORWARDED, gather, HERE } from '../http/write-batch.ts';
import type { Origin } from './call-context.ts';
import type { PiecedAnswer } from './large-results.ts';

const PATH = '/rpc';

/**
 * No page can come here with a token by following a link, so what is answered is never a document: of the security headers, those
 * that speak to documents stay with the refusals.
 */
const NOSNIFF = 'x-content-type-options';
const ROUTE = exchangeRoute(PATH, 'rpc', { [NOSNIFF]: SECURITY_HEADERS[NOSNIFF] });

const DOC: RouteDoc = {
  summary: 'Calls a method, or several, by JSON-RPC 2.0.',
  description: 'Methods, their scopes and params stand in /openrpc.json. Errors of a method are answers too, with status 200.',
  headers: KeyHeader,
  body: RpcBody,
  example: { body: { jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'hello' } } },
  answers: {
    200: { description: 'The answer, or those of a batch.', schema: RpcAnswer },
    204: { description: 'There was nothing to answer.' },
  },
};

/** Of a large answer no more is fetched than the client takes. */
const ONE_PIECE = { objectMode: true, highWaterMark: 1 };

export interface RpcOptions extends ExchangeGround {
  settings: Settings<'gateway'>;
  dispatcher: Dispatcher;
}

/** JSON-RPC over `POST /rpc`: 200 for every answer, whatever it says; 204 when there is nothing to say. */
export function createRpc(options: RpcOptions): FrontRoute {
  const { settings } = options;
  const write = (exchange: RpcExchange): void => exchange.writeOwn();
  const serving: Serving = { ...options, sendHere: gather(HERE, write), sendForwarded: gather(FORWARDED, write) };
  const serve = (pair: RequestResponse): void => {
    const exchange = new RpcExchange(serving, pair);
    try {
      const caller = exchange.admit(anybody);
      if (caller === undefined) return;
      const limit = messageLimit(caller, settings.current.gateway.httpBodyLimitBytes);
      exchange.read(caller, limit, (body) => exchange.run(caller, body));
    } catch (error) {
      exchange.fail(error);
    }
  };
  return { path: PATH, doc: DOC, handle: (request, response) => serve({ request, response }) };
}

/** Each call says what its method needs. */
function anybody(): undefined {
  return undefined;
}

interface Serving extends RpcOptions {
  /** Writes an answer that was made here. */
  sendHere(exchange: RpcExchange): void;
  /** Writes one that came over the bus. */
  sendForwarded(exchange: RpcExchange): void;
}

class RpcExchange extends Exchange {
  readonly #serving: Serving;
  #forwarded = false;
  #answer: Answer | undefined;

  constructor(serving: Serving, pair: RequestResponse) {
    super(serving, ROUTE, pair);
    this.#serving = serving;
  }

  run(caller: Caller, body: Buffer): void {
    const { requestId, traceparent } = this;
    const from: Origin = { caller, requestId, route: ROUTE.name, traceparent };
    const key = this.request.headers['idempotency-key'];
    if (typeof key === 'string') from.idempotencyKey = key;
    const { admission, dispatcher } = this.#serving;
    const envelope = dispatcher.read(body);
    const refusal = Array.isArray(envelope) ? admission.limitBatch(caller.key, envelope.length) : undefined;
    if (refusal) return this.refuse(refusal);
    const onAnswer = (answer: Answer | undefined): void => {
      if (this.answered) return;
      this.answered = true;
      this.#answer = answer;
      if (this.#forwarded) this.#serving.sendForwarded(this);
      else this.#serving.sendHere(this);
    };
    const cancel = dispatcher.run(envelope, from, onAnswer, (pieces) => void this.#writePieces(pieces));
    if (this.answered) return;
    this.#forwarded = true;
    this.onLeft(cancel);
  }

  /** The answer there is. */
  writeOwn(): void {
    this.write(this.#answer);
  }

  /** No faster than it is read. What breaks off is a broken connection: nobody takes a part of it for the whole. */
  async #writePieces({ length, pieces }: PiecedAnswer): Promise<void> {
    this.answered = true;
    try {
      await pipeline(Readable.from(pieces, ONE_PIECE), this.writable(length));
    } catch (error) {
      if (error instanceof ServiceError) this.fail(error);
    }
    this.note();
  }
}
