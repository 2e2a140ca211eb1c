import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { KeyHeader, RpcResponse, RpcBody } from '../openapi/schemas.ts';
import { getMaxMessageBytes } from '../auth/admission.ts';
import type { Caller } from '../request/caller.ts';
import { Exchange, createExchangeRoute, type ExchangeDeps, type RequestResponse } from '../http/exchange.ts';
import type { PreFastifyRoute } from '../http/pre-fastify-routes.ts';
import { SECURITY_HEADERS } from '../request/security-headers.ts';
import type { Payload } from '../http/payload.ts';
import type { Dispatcher } from './dispatcher.ts';
import { FORWARDED_RESPONSES, createWriteBatch, LOCAL_RESPONSES } from '../http/write-batch.ts';
import type { CallOrigin } from './call-context.ts';
import type { StreamedResult } from './large-results.ts';

const PATH = '/rpc';

/**
 * Results are never documents, because a link cannot send a token. So they have only this security header, and refusals have the
 * document policies too.
 */
const NOSNIFF_HEADER = 'x-content-type-options';
const ROUTE = createExchangeRoute(PATH, 'rpc', { [NOSNIFF_HEADER]: SECURITY_HEADERS[NOSNIFF_HEADER] });

const DOC: RouteDoc = {
  summary: 'Calls one or several methods by JSON-RPC 2.0.',
  description: 'Methods, scopes and params are described in /openrpc.json. Errors of a method have status 200.',
  headers: KeyHeader,
  body: RpcBody,
  example: { body: { jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message: 'hello' } } },
  responses: {
    200: { description: 'The response, or the responses of a batch.', schema: RpcResponse },
    204: { description: 'The message had only notifications.' },
  },
};

/** Fetches one chunk of a large result at a time, as fast as the client reads. */
const SINGLE_CHUNK = { objectMode: true, highWaterMark: 1 };

export interface RpcOptions extends ExchangeDeps {
  settings: Settings<'gateway'>;
  dispatcher: Dispatcher;
}

/** JSON-RPC over `POST /rpc`: 200 for every response, including errors; 204 for notifications. */
export function createRpcRoute(options: RpcOptions): PreFastifyRoute {
  const { settings } = options;
  const write = (exchange: RpcExchange): void => exchange.writeResponse();
  const deps: RpcExchangeDeps = {
    ...options,
    sendLocal: createWriteBatch(LOCAL_RESPONSES, write),
    sendForwarded: createWriteBatch(FORWARDED_RESPONSES, write),
  };
  const serve = (pair: RequestResponse): void => {
    const exchange = new RpcExchange(deps, pair);
    try {
      const caller = exchange.admit(allowAll);
      if (caller === undefined) return;
      const limit = getMaxMessageBytes(caller, settings.current.gateway.httpBodyLimitBytes);
      exchange.read(caller, limit, (body) => exchange.run(caller, body));
    } catch (error) {
      exchange.fail(error);
    }
  };
  return { path: PATH, doc: DOC, handle: (request, response) => serve({ request, response }) };
}

/** Accepts every caller, because scopes are checked per method. */
function allowAll(): undefined {
  return undefined;
}

interface RpcExchangeDeps extends RpcOptions {
  /** Writes a response of the gateway itself. */
  sendLocal(exchange: RpcExchange): void;
  /** Writes a response from the bus. */
  sendForwarded(exchange: RpcExchange): void;
}

class RpcExchange extends Exchange {
  readonly #deps: RpcExchangeDeps;
  #forwarded = false;
  #payload: Payload | undefined;

  constructor(deps: RpcExchangeDeps, pair: RequestResponse) {
    super(deps, ROUTE, pair);
    this.#deps = deps;
  }

  run(caller: Caller, body: Buffer): void {
    const { requestId, traceparent } = this;
    const origin: CallOrigin = { caller, requestId, route: ROUTE.name, traceparent };
    const key = this.request.headers['idempotency-key'];
    if (typeof key === 'string') origin.idempotencyKey = key;
    const { admission, dispatcher } = this.#deps;
    const envelope = dispatcher.parse(body);
    const refusal = Array.isArray(envelope) ? admission.limitBatch(caller.key, envelope.length) : undefined;
    if (refusal) return this.refuse(refusal);
    const onResponse = (answer: Payload | undefined): void => {
      if (this.isAnswered) return;
      this.isAnswered = true;
      this.#payload = answer;
      if (this.#forwarded) this.#deps.sendForwarded(this);
      else this.#deps.sendLocal(this);
    };
    const cancel = dispatcher.run(envelope, origin, onResponse, (pieces) => void this.#writeStream(pieces));
    if (this.isAnswered) return;
    this.#forwarded = true;
    this.onDisconnect(cancel);
  }

  writeResponse(): void {
    this.write(this.#payload);
  }

  /** Streams a result as fast as the client reads. A failure closes the connection, so that the client does not take a partial result for complete. */
  async #writeStream({ length, pieces }: StreamedResult): Promise<void> {
    this.isAnswered = true;
    try {
      await pipeline(Readable.from(pieces, SINGLE_CHUNK), this.startBody(length));
    } catch (error) {
      if (error instanceof ServiceError) this.fail(error);
    }
    this.logAccess();
  }
}
