import type { Bus, CallOptions } from '@switchyard/bus';
import { ServiceError, type StatelessResult, type StatelessTurn } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { FastifyInstance } from 'fastify';
import { jsonBody } from '../server/body.ts';
import type { Edge } from '../edge.ts';
import { callOptions } from '../server/trace.ts';
import { idempotencyKeyOf } from './chat-request.ts';
import { completionBody } from './completion-body.ts';
import { completionAnswer, completionChunks, completionHead, DONE, type CompletionHead } from './completion-chunks.ts';
import { completionError, errorFrame, failureError, noteFailure } from './errors.ts';
import { startKeyedRun, type Exchange, type KeyedRun, type Run, type Step } from './keyed-completion.ts';
import { createJoinedText, openEventStream } from './sse.ts';

/**
 * `POST /v1/chat/completions`: one turn that keeps nothing, and that leaving cancels. With an `Idempotency-Key` it is one turn for all
 * requests with that key: leaving does not end it, and its answer is kept for a day.
 */
export function registerCompletions(app: FastifyInstance, edge: Edge): void {
  app.post('/v1/chat/completions', { onRequest: edge.guard({ scopes: ['rpc', 'api'] }) }, async (request, reply) => {
    const completion = completionBody(jsonBody(request), request.caller.lenient);
    const exchange = { request, reply, completion };
    const keyed = await startKeyed(edge, exchange);
    const head = keyed?.head ?? completionHead(completion.turn.model);
    if (keyed?.replayed) reply.header('idempotency-replayed', 'true');
    if (completion.stream) {
      const run = keyed?.run ?? startRun(edge.bus, exchange);
      const step = await firstWords(run);
      void sendChunks(edge, { ...exchange, head, run, step });
      return reply;
    }
    const result = keyed ? await resultOf(keyed.run) : await complete(edge.bus, exchange);
    reply.header('cache-control', 'no-store');
    return completionAnswer(head, result);
  });
}

/** The turn of the request's key; undefined where it has none. */
async function startKeyed(edge: Edge, exchange: Exchange): Promise<KeyedRun | undefined> {
  const key = idempotencyKeyOf(exchange.request);
  if (key === undefined) return undefined;
  try {
    return await startKeyedRun(edge, exchange, key);
  } catch (error) {
    throw completionError(error);
  }
}

async function complete(bus: Bus, exchange: Exchange): Promise<StatelessResult> {
  try {
    return await bus.as(exchange.request.caller.principal).call('turns.complete', turnOf(exchange), optionsOf(exchange));
  } catch (error) {
    throw completionError(error);
  }
}

function turnOf({ completion }: Exchange): StatelessTurn {
  return { ...completion.turn, turnId: mintId('turn') };
}

/** A client that leaves ends its turn. */
function optionsOf({ request, reply: { raw } }: Exchange): CallOptions {
  const left = new AbortController();
  raw.once('close', () => void (raw.writableFinished || left.abort()));
  if (raw.destroyed) left.abort();
  return { ...callOptions(request), signal: left.signal };
}

/** A turn that runs for one response and ends with it. */
function startRun(bus: Bus, exchange: Exchange): Run {
  const frames = bus.as(exchange.request.caller.principal).stream('turns.run', turnOf(exchange), optionsOf(exchange));
  return async () => {
    const step = await frames.next();
    if (!step.done && step.value.type === 'error') throw failureError(step.value.error);
    return step;
  };
}

async function firstWords(run: Run): Promise<Step> {
  return readUntil(run, saysMore);
}

async function resultOf(run: Run): Promise<StatelessResult> {
  const end = await readUntil(run, ({ done }) => done === true);
  return end.value as StatelessResult;
}

/** Until the first byte of a response is out, a failure can still be a status. */
async function readUntil(run: Run, enough: (step: Step) => boolean): Promise<Step> {
  try {
    let step = await run();
    while (!enough(step)) step = await run();
    return step;
  } catch (error) {
    throw completionError(error);
  }
}

/** Whether it says more than that the turn has begun. */
function saysMore(step: Step): boolean {
  return step.done === true || (step.value.type !== 'accepted' && step.value.type !== 'step');
}

interface Chunked extends Exchange {
  head: CompletionHead;
  run: Run;
  /** Where the turn is when the response begins. */
  step: Step;
}

/** A failure ends the stream with an error frame and no finish chunk, so that no client takes a part for the whole. */
async function sendChunks(edge: Edge, { request, reply, completion, head, run, step }: Chunked): Promise<void> {
  const chunks = completionChunks(head);
  const stream = openEventStream(reply, {
    first: chunks.role,
    admitted: () => edge.tokens.admits(request.caller),
    onDrain: () => text.drained(),
    onClose: () => undefined,
  });
  const text = createJoinedText(stream, { send: (piece) => stream.write(chunks.content(piece)) });
  try {
    let now = step;
    for (; !now.done; now = await run()) if (now.value.type === 'delta') text.add(now.value.text);
    text.flush();
    for (const chunk of chunks.toolCalls(now.value)) stream.write(chunk);
    stream.write(chunks.finish(now.value));
    if (completion.includeUsage) stream.write(chunks.usage(now.value));
  } catch (error) {
    text.flush();
    const known = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
    noteFailure(edge, request, known);
    stream.write(errorFrame(known));
  }
  stream.end(DONE);
}
