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
import { firstWords, startRun } from '../chat-completions/completion-run.ts';
import { completionError, RESPONSE_FIELDS } from '../openai-errors.ts';
import { digestOf, readAlong, startOnce, type Reader } from '../chat-completions/keyed-completion.ts';
import { responseBody, toResponseRequest, type ResponseRequest } from './response-body.ts';
import { StrictBody } from './response-schema.ts';
import { conversationBefore, headOf, keptOf, now, ofResponse, speaker, uncached } from './stored-response.ts';
import { withReferences } from './response-references.ts';
import { outcomeOf, responseId, responseResource, type ResponseHead } from './response-resource.ts';
import { sendEvents, tellAgain, tellRun, type Telling } from './response-stream.ts';
import { followTurn } from '../../turns/turn-start.ts';
import { hasEnded } from '../../turns/turn-reader.ts';
import { refusedField } from '../openai-body.ts';

const SCOPES = ['rpc', 'api'] as const;
const CREATE: RouteDoc = {
  scopes: SCOPES,
  summary: 'A response of a model or an agent; with `stream` as events.',
  description:
    'As the Open Responses specification has it. It is kept for thirty days unless `store` is false, and goes on without its client then. With an Idempotency-Key it runs once.',
  headers: KeyHeader,
  body: StrictBody,
  example: { body: { model: 'dev/echo', input: 'hello' } },
  answers: { 200: { description: 'The response; events up to `[DONE]` where `stream` is true.', schema: ResponseResource } },
  refusals: [404, 409, 422],
};
const GET: RouteDoc = {
  scopes: SCOPES,
  summary: 'A response that is kept; with `stream` told again as events.',
  query: ResponseQuery,
  answers: { 200: { description: 'How it is.', schema: ResponseResource } },
  refusals: [404],
};
const CANCEL: RouteDoc = {
  scopes: SCOPES,
  summary: 'Ends a response that runs.',
  answers: { 200: { description: 'How it is now.', schema: ResponseResource } },
  refusals: [404],
};
const DELETE: RouteDoc = {
  scopes: SCOPES,
  summary: 'Forgets a response.',
  answers: { 200: { description: 'It is gone.', schema: ResponseDeleted } },
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
    const body = responseBody(parseJsonBody(request), request.caller.lenient);
    const before = await conversationBefore(edge, request, body.previous_response_id);
    const asked = toResponseRequest(body, before, await withReferences(edge, request, body.input));
    const key = getIdempotencyKey(request);
    try {
      return asked.store || key !== undefined
        ? await runKept(edge, { request, reply }, asked, key)
        : await runUnkept(edge, { request, reply }, asked);
    } catch (error) {
      throw completionError(error, RESPONSE_FIELDS);
    }
  });

  app.get<{ Params: { id: string } }>('/v1/responses/:id', edge.route(GET), async (request, reply) => {
    const kept = await keptOf(edge, request, request.params.id);
    const query = request.query as Query;
    if (getQueryText(query, 'stream') !== 'true') return uncached(reply, responseResource(headOf(kept), outcomeOf(kept)));
    const after = startingAfter(getQueryText(query, 'starting_after'));
    const telling = hasEnded(kept) ? tellAgain(kept) : await follow(edge, { request, reply }, kept.turnId);
    await sendEvents(edge, { request, reply }, { head: headOf(kept), telling, after, now: () => now(edge, request, kept.turnId) });
    return reply;
  });

  app.post<{ Params: { id: string } }>('/v1/responses/:id/cancel', edge.route(CANCEL), async (request, reply) => {
    const state = await ofResponse(request.params.id, (turnId) =>
      speaker(edge, request).call('responses.cancel', { turnId }, createCallOptions(request)),
    );
    return uncached(reply, responseResource(headOf(state), outcomeOf(state)));
  });

  app.delete<{ Params: { id: string } }>('/v1/responses/:id', edge.route(DELETE), async (request, reply) => {
    const { id } = request.params;
    const { deleted } = await ofResponse(id, (turnId) =>
      speaker(edge, request).call('responses.delete', { turnId }, createCallOptions(request)),
    );
    return uncached(reply, { id, object: 'response', deleted });
  });
}

function readerOf({ request, reply }: Exchange): Reader {
  return { caller: request.caller, ids: createCallOptions(request), response: reply.raw };
}

function seconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Nothing is kept of it; leaving it cancels it. */
async function runUnkept(edge: Edge, exchange: Exchange, { turn, stream, echo }: ResponseRequest): Promise<unknown> {
  const head: ResponseHead = { turnId: mintId('turn'), createdAt: seconds(), echo };
  const run = startRun(edge.bus, { ...readerOf(exchange), completion: { turn } }, head.turnId);
  // Until the first byte is out, a failure can still be a status.
  const telling = tellRun(run, await firstWords(run));
  if (!stream) return uncached(exchange.reply, await allOf(head, telling));
  await sendEvents(edge, exchange, { head, telling });
  return exchange.reply;
}

/** Starts a stored response, which continues without its client. */
async function runKept(edge: Edge, exchange: Exchange, asked: ResponseRequest, key: string | undefined): Promise<unknown> {
  const { request, reply } = exchange;
  const { stream, background, echo } = asked;
  const turn = onceOf(asked, key);
  const { turnId, head: named, replayed, run } = await startOnce(edge, readerOf(exchange), turn);
  const head: ResponseHead = { turnId, createdAt: named.created, echo };
  const headers: Record<string, string> = replayed ? { 'idempotency-replayed': 'true' } : {};
  const state = asked.store ? () => now(edge, request, turnId) : undefined;
  if (stream) {
    await sendEvents(edge, exchange, { head, telling: tellRun(run), headers, now: state });
    return reply;
  }
  reply.headers(headers);
  if (background && state) return uncached(reply, responseResource(head, outcomeOf(await state())));
  return uncached(reply, await allOf(head, tellRun(run)));
}

function onceOf(asked: ResponseRequest, key: string | undefined): Params<'turns.once'> {
  const { turn, system, store, echo } = asked;
  const turnId = mintId('turn');
  const head = { id: responseId(turnId), created: seconds() };
  const response = { echo, ...(system === undefined ? {} : { system }) };
  return { ...turn, turnId, idempotencyKey: key ?? turnId, fingerprint: digestOf(asked), head, ...(store ? { response } : {}) };
}

async function allOf(head: ResponseHead, telling: Telling): Promise<object> {
  let step = await telling.next();
  while (step.done !== true) step = await telling.next();
  return responseResource(head, step.value);
}

/** Streams a running response: its output so far, then live output. */
async function follow(edge: Edge, { request, reply }: Exchange, turnId: string): Promise<Telling> {
  const { reader, earlier } = await followTurn(speaker(edge, request), turnId, createCallOptions(request));
  return tellRun(readAlong(edge, { turnId, reader, earlier, response: reply.raw }));
}

function startingAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw refusedField('starting_after', 'expected the number of an event, got something else');
  return Number(text);
}
