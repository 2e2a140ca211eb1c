import type { Params } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../../openapi/route-doc.ts';
import { KeyHeader, ResponseDeleted, ResponseQuery, ResponseResource } from '../../openapi/schemas.ts';
import type { Edge } from '../../http/edge.ts';
import { parseJsonBody } from '../../request/request-body.ts';
import { createCallOptions } from '../../request/trace.ts';
import { getIdempotencyKey } from '../../request/idempotency-key.ts';
import { type Query, getQueryText } from '../../request/query.ts';
import { readFirstOutput, startStatelessTurn } from '../chat-completions/completion-run.ts';
import { toCompletionError, RESPONSE_FIELDS } from '../openai-errors.ts';
import { hashRequest, createStepReader, startKeyedTurn, type ResponseClient } from '../chat-completions/keyed-completion.ts';
import { parseResponseBody, toResponseRequest, type ResponseRequest } from './response-body.ts';
import { StrictBody } from './response-schema.ts';
import {
  readPreviousConversation,
  toResponseHead,
  getStoredResponse,
  readStoredResponse,
  callForResponse,
  getCallerBus,
  setNoStore,
} from './stored-response.ts';
import { rejectUnknownItem, resolveReferences } from './response-references.ts';
import { parseResponseId, toOutcome, toResponseId, createResponseResource, type ResponseHead } from './response-resource.ts';
import { sendEvents, replayOutput, streamOutput, type ResponseOutput } from './response-stream.ts';
import { followTurn } from '../../turns/turn-start.ts';
import { hasEnded } from '../../turns/turn-reader.ts';
import { isLenient } from '../../request/lenient-path.ts';
import { createFieldError } from '../openai-body.ts';
import { describeOmission, toWarningHeaders } from '../request-warnings.ts';

const SCOPES = ['rpc', 'api'] as const;
const CREATE: RouteDoc = {
  scopes: SCOPES,
  summary: 'Creates a response of a model or an agent. With `stream` it is sent as events.',
  description:
    'Follows the Open Responses specification. Unless `store` is false, the response is stored for thirty days and continues after a disconnect. With an Idempotency-Key it runs once. For lenient tokens and on `/openai/v1/responses`, `X-Switchyard-Warning` names the tools and items that were left out.',
  headers: KeyHeader,
  body: StrictBody,
  example: { body: { model: 'dev/echo', input: 'hello' } },
  responses: { 200: { description: 'The response, or events up to `[DONE]` with `stream`.', schema: ResponseResource } },
  refusals: [404, 409, 422],
};
const GET: RouteDoc = {
  scopes: SCOPES,
  summary: 'Returns a stored response. With `stream` it is sent again as events.',
  query: ResponseQuery,
  responses: { 200: { description: 'The response.', schema: ResponseResource } },
  refusals: [404],
};
const CANCEL: RouteDoc = {
  scopes: SCOPES,
  summary: 'Cancels a running response.',
  responses: { 200: { description: 'The response after the cancellation.', schema: ResponseResource } },
  refusals: [404],
};
const DELETE: RouteDoc = {
  scopes: SCOPES,
  summary: 'Deletes a stored response.',
  responses: { 200: { description: 'The response was deleted.', schema: ResponseDeleted } },
  refusals: [404],
};

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
}

/**
 * `/v1/responses` as in the Open Responses specification. A stored response (the default; `store: false` turns it off) is a turn that
 * continues without its client and is kept for thirty days: it can be read, streamed again, continued, cancelled and deleted by its id.
 * Other responses are stateless turns, which a disconnect cancels.
 */
export function registerResponses(app: FastifyInstance, edge: Edge): void {
  app.post('/v1/responses', edge.route(CREATE), async (request, reply) => {
    const lenient = isLenient(request.raw, request.caller);
    const body = parseResponseBody(parseJsonBody(request), lenient);
    const before = await readPreviousConversation(edge, request, body);
    const { input: items, warnings } = body;
    const onUnknown = lenient ? () => warnings.push(describeOmission('input', 'item', 'item_reference')) : rejectUnknownItem;
    const parsed = toResponseRequest(body, before, await resolveReferences(edge, request, { items, onUnknown }));
    const key = getIdempotencyKey(request);
    try {
      return parsed.store || key !== undefined
        ? await runStored(edge, { request, reply }, parsed, key)
        : await runStateless(edge, { request, reply }, parsed);
    } catch (error) {
      throw toCompletionError(error, RESPONSE_FIELDS);
    }
  });

  app.get<{ Params: { id: string } }>('/v1/responses/:id', edge.route(GET), async (request, reply) => {
    const stored = await getStoredResponse(edge, request, request.params.id);
    const query = request.query as Query;
    if (getQueryText(query, 'stream') !== 'true')
      return setNoStore(reply, createResponseResource(toResponseHead(request, stored), toOutcome(stored)));
    const after = parseStartingAfter(getQueryText(query, 'starting_after'));
    const output = hasEnded(stored) ? replayOutput(stored) : await followResponse(edge, { request, reply }, stored.turnId);
    await sendEvents(
      edge,
      { request, reply },
      { head: toResponseHead(request, stored), output, after, readState: () => readStoredResponse(edge, request, stored.turnId) },
    );
    return reply;
  });

  app.post<{ Params: { id: string } }>('/v1/responses/:id/cancel', edge.route(CANCEL), async (request, reply) => {
    const state = await callForResponse(request.params.id, (turnId) =>
      getCallerBus(edge, request).call('responses.cancel', { turnId }, createCallOptions(request)),
    );
    return setNoStore(reply, createResponseResource(toResponseHead(request, state), toOutcome(state)));
  });

  app.delete<{ Params: { id: string } }>('/v1/responses/:id', edge.route(DELETE), async (request, reply) => {
    const { id } = request.params;
    const { deleted } = await callForResponse(id, (turnId) =>
      getCallerBus(edge, request).call('responses.delete', { turnId }, createCallOptions(request)),
    );
    return setNoStore(reply, { id, object: 'response', deleted });
  });
}

function toResponseClient({ request, reply }: Exchange): ResponseClient {
  return { caller: request.caller, ids: createCallOptions(request), response: reply.raw };
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Runs a stateless turn, which a disconnect cancels. */
async function runStateless(edge: Edge, exchange: Exchange, { turn, stream, echo, warnings }: ResponseRequest): Promise<unknown> {
  const head = toResponseHead(exchange.request, { turnId: mintId('turn'), createdAt: nowInSeconds(), echo });
  const nextStep = startStatelessTurn(edge.bus, { ...toResponseClient(exchange), completion: { turn } }, head.turnId);
  // A failure before the first output is sent as an HTTP status.
  const output = streamOutput(nextStep, await readFirstOutput(nextStep));
  const headers = toWarningHeaders(warnings);
  if (!stream) return setNoStore(exchange.reply.headers(headers), await collectResponse(head, output));
  await sendEvents(edge, exchange, { head, output, headers });
  return exchange.reply;
}

/** Starts a stored response, which continues without its client. */
async function runStored(edge: Edge, exchange: Exchange, parsed: ResponseRequest, key: string | undefined): Promise<unknown> {
  const { request, reply } = exchange;
  const { stream, background, echo, warnings } = parsed;
  const turn = createKeyedTurnParams(parsed, key);
  const { turnId, head: answerHead, replayed, nextStep } = await startKeyedTurn(edge, toResponseClient(exchange), turn);
  const head = toResponseHead(request, { turnId, createdAt: answerHead.created, echo });
  const headers = { ...toWarningHeaders(warnings), ...(replayed ? { 'idempotency-replayed': 'true' } : {}) };
  const readState = parsed.store ? () => readStoredResponse(edge, request, turnId) : undefined;
  if (stream) {
    await sendEvents(edge, exchange, { head, output: streamOutput(nextStep), headers, readState });
    return reply;
  }
  reply.headers(headers);
  if (background && readState) return setNoStore(reply, createResponseResource(head, toOutcome(await readState())));
  return setNoStore(reply, await collectResponse(head, streamOutput(nextStep)));
}

function createKeyedTurnParams(parsed: ResponseRequest, key: string | undefined): Params<'turns.once'> {
  const { added, warnings: _warnings, ...request } = parsed;
  const { turn, store, echo } = request;
  const turnId = mintId('turn');
  const head = { id: toResponseId(turnId), created: nowInSeconds() };
  const previousId = typeof echo['previous_response_id'] === 'string' ? parseResponseId(echo['previous_response_id']) : undefined;
  const { messages, system, instructions } = added;
  const response = {
    echo,
    ...(system === undefined ? {} : { system }),
    ...(previousId === undefined ? {} : { previous: { turnId: previousId, messages }, ...(instructions && { instructions }) }),
  };
  return { ...turn, turnId, idempotencyKey: key ?? turnId, fingerprint: hashRequest(request), head, ...(store ? { response } : {}) };
}

async function collectResponse(head: ResponseHead, output: ResponseOutput): Promise<object> {
  let step = await output.next();
  while (step.done !== true) step = await output.next();
  return createResponseResource(head, step.value);
}

/** Streams a running response: its output so far, then live output. */
async function followResponse(edge: Edge, { request, reply }: Exchange, turnId: string): Promise<ResponseOutput> {
  const { reader, earlier } = await followTurn(getCallerBus(edge, request), turnId, createCallOptions(request));
  return streamOutput(createStepReader(edge, { turnId, reader, earlier, response: reply.raw }));
}

function parseStartingAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw createFieldError('starting_after', 'expected the number of an event, got another string');
  return Number(text);
}
