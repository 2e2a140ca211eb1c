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
import { CompletionBody, completionBody, type CompletionRequest } from './completion-body.ts';
import { completionAnswer, completionHead, type CompletionHead } from './completion-chunks.ts';
import { relayCompletion } from './completion-relay.ts';
import { firstWords, resultOf, tellChunks } from './completion-run.ts';
import { openCompletionStream, type CompletionStream } from './completion-stream.ts';
import { completionError } from '../openai-errors.ts';
import { startKeyedRun } from './keyed-completion.ts';

const PATH = '/v1/chat/completions';
const ROUTE = createExchangeRoute(PATH, 'v1', SECURITY_HEADERS);
const SCOPES = ['rpc', 'api'] as const;
const DOC: RouteDoc = {
  scopes: SCOPES,
  summary: 'A completion of a chat, by a model or an agent; with `stream` as chunks.',
  description:
    'One turn that keeps nothing. With an Idempotency-Key it runs once, and its answer is kept for a day. Tokens that are lenient take more fields.',
  headers: KeyHeader,
  body: CompletionBody,
  example: { body: { model: 'dev/echo', messages: [{ role: 'user', content: 'hello' }] } },
  answers: { 200: { description: 'The completion; server-sent chunks up to `[DONE]` where `stream` is true.', schema: Completion } },
  refusals: [404, 409, 422],
};
const REPLAYED = ['idempotency-replayed', 'true'] as const;
const COMPLETE = callables.get('turns.complete') as Callable;

/**
 * `POST /v1/chat/completions`: one turn that keeps nothing, and that leaving cancels. With an `Idempotency-Key` it is one turn for all
 * requests with that key: leaving does not end it, and its answer is kept for a day.
 */
export function createCompletions(edge: Edge, ground: ExchangeDeps): PreFastifyRoute {
  const send = createWriteBatch<CompletionExchange>(FORWARDED_RESPONSES, (exchange) => exchange.writeOwn());
  const serving: Serving = { ...ground, edge, send, collect: createLargeResultCollector(edge.bus.maxPayload) };
  const serve = (pair: RequestResponse): void => {
    const exchange = new CompletionExchange(serving, pair);
    try {
      const caller = exchange.admit(mayComplete);
      if (caller === undefined) return;
      exchange.read(caller, edge.settings.current.gateway.httpBodyLimitBytes, (body) => exchange.run(caller, body));
    } catch (error) {
      exchange.fail(error);
    }
  };
  return { path: PATH, doc: DOC, handle: (request, response) => serve({ request, response }) };
}

function mayComplete(caller: Caller) {
  return checkScope(caller, SCOPES);
}

interface Serving extends ExchangeDeps {
  edge: Edge;
  /** Writes what came over the bus. */
  send(exchange: CompletionExchange): void;
  collect: CollectLargeResult;
}

interface Followed {
  caller: Caller;
  completion: CompletionRequest;
  key: string;
}

class CompletionExchange extends Exchange {
  readonly #serving: Serving;
  readonly #span: Span | undefined;
  #answer: Payload | undefined;

  constructor(serving: Serving, pair: RequestResponse) {
    super(serving, ROUTE, pair);
    this.#serving = serving;
    if (tracing()) this.#span = startRouteSpan(pair.request, pair.response, { route: PATH, requestId: this.requestId });
  }

  override get traceparent(): string | undefined {
    return this.#span?.traceparent ?? super.traceparent;
  }

  run(caller: Caller, body: Buffer): void {
    const completion = completionBody(parseBody(body), caller.lenient);
    const key = getIdempotencyKey(this.request);
    if (key === undefined && !completion.stream) return this.#complete(caller, completion);
    if (key === undefined) this.#stream(caller, completion);
    else void this.#follow({ caller, completion, key });
  }

  /** The answer there is. */
  writeOwn(): void {
    this.write(this.#answer);
  }

  /** One call with one answer: nothing is made that only a stream needs. */
  #complete({ encodedPrincipal }: Caller, { turn }: CompletionRequest): void {
    const head = completionHead(turn.model);
    const params = Buffer.from(JSON.stringify({ ...turn, turnId: mintId('turn') }));
    const ids = { principal: encodedPrincipal, timeoutMs: COMPLETE.deadlineMs, ...this.#ids() };
    let fetching: AbortController | undefined;
    const cancel = this.#serving.edge.bus.forward(COMPLETE, params, ids, ({ data, large, error }: Reply) => {
      if (error) return this.#failed(error);
      if (data) return this.#succeed(head, data);
      const { signal } = (fetching = new AbortController());
      this.#serving.collect('The answer of the turn', large, signal).then(
        (bytes) => this.#succeed(head, bytes),
        (thrown: unknown) => this.#failed(thrown),
      );
    });
    this.onDisconnect(() => {
      cancel();
      fetching?.abort();
    });
  }

  #succeed(head: CompletionHead, data: Uint8Array): void {
    if (this.answered) return;
    const result = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString()) as StatelessResult;
    this.#answer = encodePayload(JSON.stringify(completionAnswer(head, result)));
    this.answered = true;
    this.#serving.send(this);
  }

  /** An aborted request has no client left that could receive the error. */
  #failed(error: unknown): void {
    if (!this.answered) this.fail(completionError(error));
  }

  /** Runs a turn and streams its output. */
  #stream(caller: Caller, completion: CompletionRequest): void {
    const head = completionHead(completion.turn.model);
    relayCompletion({
      edge: this.#serving.edge,
      caller,
      turn: completion.turn,
      ids: this.#ids(),
      response: this.response,
      begin: () => this.#begin({ caller, completion, head }),
      refuse: (error) => this.fail(completionError(error)),
    });
  }

  /** A turn that goes on without this request. */
  async #follow({ caller, completion, key }: Followed): Promise<void> {
    const { edge } = this.#serving;
    const { response } = this;
    try {
      const { head, replayed, run } = await startKeyedRun(edge, { completion, caller, ids: this.#ids(), response }, key);
      const more = replayed ? REPLAYED : [];
      if (!completion.stream) {
        const result = await resultOf(run);
        this.answered = true;
        return this.write(encodePayload(JSON.stringify(completionAnswer(head, result))), more);
      }
      const step = await firstWords(run);
      await tellChunks(this.#begin({ caller, completion, head }, more), run, step);
    } catch (error) {
      this.fail(completionError(error));
    }
  }

  #begin(
    { caller, completion, head }: { caller: Caller; completion: CompletionRequest; head: CompletionHead },
    more: readonly string[] = [],
  ): CompletionStream {
    this.answered = true;
    const { response } = this;
    const { includeUsage } = completion;
    const headers = [...this.headers(), ...more];
    return openCompletionStream({ edge: this.#serving.edge, exchange: this, caller, response, head, includeUsage, headers });
  }

  #ids(): { requestId: string; traceparent?: string } {
    const { requestId, traceparent } = this;
    return traceparent === undefined ? { requestId } : { requestId, traceparent };
  }
}
