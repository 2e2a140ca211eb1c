import type { Reply } from '@switchyard/bus';
import { callables, type Callable, type StatelessResult } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { tracing, type Span } from '@switchyard/telemetry';
import { checkScope } from '../../auth/admission.ts';
import type { Caller } from '../../request/caller.ts';
import type { RouteDoc } from '../../openapi/route-doc.ts';
import { Completion, KeyHeader } from '../../openapi/schemas.ts';
import type { Edge } from '../../http/edge.ts';
import { type Payload, encodePayload } from '../../http/payload.ts';
import { FORWARDED_RESPONSES, createWriteBatch } from '../../http/write-batch.ts';
import { createLargeResultCollector, type CollectLargeResult } from '../../rpc/large-results.ts';
import { parseBody } from '../../request/request-body.ts';
import { Exchange, createExchangeRoute, type ExchangeDeps, type RequestResponse } from '../../http/exchange.ts';
import type { PreFastifyRoute } from '../../http/pre-fastify-routes.ts';
import { SECURITY_HEADERS } from '../../request/security-headers.ts';
import { startRouteSpan } from '../../request/trace.ts';
import { getIdempotencyKey } from '../../request/idempotency-key.ts';
import { CompletionBody, parseCompletionBody, type CompletionRequest } from './completion-body.ts';
import { createCompletion, createCompletionHead, type CompletionHead } from './completion-chunks.ts';
import { relayCompletion } from './completion-relay.ts';
import { readFirstOutput, readResult, streamChunks } from './completion-run.ts';
import { openCompletionStream, type CompletionStream } from './completion-stream.ts';
import { isLenient } from '../../request/lenient-path.ts';
import { toCompletionError } from '../openai-errors.ts';
import { toWarningHeaders } from '../request-warnings.ts';
import { startKeyedCompletion } from './keyed-completion.ts';

const PATH = '/v1/chat/completions';
const ROUTE = createExchangeRoute(PATH, 'v1', SECURITY_HEADERS);
const SCOPES = ['rpc', 'api'] as const;
const DOC: RouteDoc = {
  scopes: SCOPES,
  summary: 'Creates a chat completion by a model or an agent. With `stream` it is sent as chunks.',
  description:
    'Runs one stateless turn. With an Idempotency-Key the turn runs once, and its result is stored for one day. Lenient tokens and requests to `/openai/v1/chat/completions` may send more fields. `X-Switchyard-Warning` names the tools that were left out.',
  headers: KeyHeader,
  body: CompletionBody,
  example: { body: { model: 'dev/echo', messages: [{ role: 'user', content: 'hello' }] } },
  responses: { 200: { description: 'The completion, or server-sent chunks up to `[DONE]` with `stream`.', schema: Completion } },
  refusals: [404, 409, 422],
};
const REPLAYED = ['idempotency-replayed', 'true'] as const;
const COMPLETE = callables.get('turns.complete') as Callable;

/**
 * `POST /v1/chat/completions`: runs one stateless turn, which a disconnect cancels. Requests with the same `Idempotency-Key` share one
 * turn, which continues after a disconnect and whose result is stored for one day.
 */
export function createCompletions(edge: Edge, exchangeDeps: ExchangeDeps): PreFastifyRoute {
  const send = createWriteBatch<CompletionExchange>(FORWARDED_RESPONSES, (exchange) => exchange.writeCompletion());
  const deps: CompletionDeps = { ...exchangeDeps, edge, send, collect: createLargeResultCollector(edge.bus.maxPayload) };
  const serve = (pair: RequestResponse): void => {
    const exchange = new CompletionExchange(deps, pair);
    try {
      const caller = exchange.admit(checkCompletionScope);
      if (caller === undefined) return;
      exchange.read(caller, edge.settings.current.gateway.httpBodyLimitBytes, (body) => exchange.run(caller, body));
    } catch (error) {
      exchange.fail(error);
    }
  };
  return { path: PATH, doc: DOC, handle: (request, response) => serve({ request, response }) };
}

/** The extra headers of a response, as alternating names and values. */
function toHeaders({ warnings }: CompletionRequest): string[] | undefined {
  return warnings && Object.entries(toWarningHeaders(warnings)).flat();
}

function checkCompletionScope(caller: Caller) {
  return checkScope(caller, SCOPES);
}

interface CompletionDeps extends ExchangeDeps {
  edge: Edge;
  /** Writes a response from the bus. */
  send(exchange: CompletionExchange): void;
  collect: CollectLargeResult;
}

interface KeyedRequest {
  caller: Caller;
  completion: CompletionRequest;
  key: string;
}

class CompletionExchange extends Exchange {
  readonly #deps: CompletionDeps;
  readonly #span: Span | undefined;
  #answer: Payload | undefined;
  #extraHeaders: readonly string[] | undefined;

  constructor(deps: CompletionDeps, pair: RequestResponse) {
    super(deps, ROUTE, pair);
    this.#deps = deps;
    if (tracing()) this.#span = startRouteSpan(pair.request, pair.response, { route: PATH, requestId: this.requestId });
  }

  override get traceparent(): string | undefined {
    return this.#span?.traceparent ?? super.traceparent;
  }

  run(caller: Caller, body: Buffer): void {
    const completion = parseCompletionBody(parseBody(body), isLenient(this.request, caller));
    const key = getIdempotencyKey(this.request);
    if (key === undefined && !completion.stream) return this.#complete(caller, completion);
    if (key === undefined) this.#stream(caller, completion);
    else void this.#runKeyed({ caller, completion, key });
  }

  writeCompletion(): void {
    this.write(this.#answer, this.#extraHeaders);
  }

  /** Runs a non-streaming turn without the objects that only a stream needs. */
  #complete(caller: Caller, completion: CompletionRequest): void {
    const { turn } = completion;
    const head = createCompletionHead(completion, isLenient(this.request, caller));
    this.#extraHeaders = toHeaders(completion);
    const params = Buffer.from(JSON.stringify({ ...turn, turnId: mintId('turn') }));
    const ids = { principal: caller.encodedPrincipal, timeoutMs: COMPLETE.deadlineMs, ...this.#getCallIds() };
    let download: AbortController | undefined;
    const cancel = this.#deps.edge.bus.forward(COMPLETE, params, ids, ({ data, large, error }: Reply) => {
      if (error) return this.#failUnlessAnswered(error);
      if (data) return this.#respond(head, data);
      const { signal } = (download = new AbortController());
      this.#deps.collect('The response of the turn', large, signal).then(
        (bytes) => this.#respond(head, bytes),
        (thrown: unknown) => this.#failUnlessAnswered(thrown),
      );
    });
    this.onDisconnect(() => {
      cancel();
      download?.abort();
    });
  }

  #respond(head: CompletionHead, data: Uint8Array): void {
    if (this.isAnswered) return;
    const result = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as StatelessResult;
    this.#answer = encodePayload(JSON.stringify(createCompletion(head, result)));
    this.isAnswered = true;
    this.#deps.send(this);
  }

  /** Sends the error unless a response has started or the client has disconnected. */
  #failUnlessAnswered(error: unknown): void {
    if (!this.isAnswered) this.fail(toCompletionError(error));
  }

  /** Runs a turn and streams its output. */
  #stream(caller: Caller, completion: CompletionRequest): void {
    const head = createCompletionHead(completion, isLenient(this.request, caller));
    relayCompletion({
      edge: this.#deps.edge,
      caller,
      turn: completion.turn,
      ids: this.#getCallIds(),
      response: this.response,
      begin: () => this.#begin({ caller, completion, head }, toHeaders(completion)),
      refuse: (error) => this.fail(toCompletionError(error)),
    });
  }

  /** Starts or joins the turn of an idempotency key, which continues after a disconnect. */
  async #runKeyed({ caller, completion, key }: KeyedRequest): Promise<void> {
    const { edge } = this.#deps;
    const { response } = this;
    const lenient = isLenient(this.request, caller);
    try {
      const { head, replayed, nextStep } = await startKeyedCompletion(
        edge,
        { completion, caller, lenient, ids: this.#getCallIds(), response },
        key,
      );
      const extraHeaders = [...(toHeaders(completion) ?? []), ...(replayed ? REPLAYED : [])];
      if (!completion.stream) {
        const result = await readResult(nextStep);
        this.isAnswered = true;
        return this.write(encodePayload(JSON.stringify(createCompletion(head, result))), extraHeaders);
      }
      const step = await readFirstOutput(nextStep);
      await streamChunks(this.#begin({ caller, completion, head }, extraHeaders), nextStep, step);
    } catch (error) {
      this.fail(toCompletionError(error));
    }
  }

  #begin(
    { caller, completion, head }: { caller: Caller; completion: CompletionRequest; head: CompletionHead },
    extraHeaders: readonly string[] = [],
  ): CompletionStream {
    this.isAnswered = true;
    const { response } = this;
    const { includeUsage } = completion;
    const headers = [...this.headers(), ...extraHeaders];
    return openCompletionStream({ edge: this.#deps.edge, exchange: this, caller, response, head, includeUsage, headers });
  }

  #getCallIds(): { requestId: string; traceparent?: string } {
    const { requestId, traceparent } = this;
    return traceparent === undefined ? { requestId } : { requestId, traceparent };
  }
}
