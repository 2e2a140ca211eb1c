import { ServiceError, type ResponseState } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { DONE } from '../chat-completions/completion-chunks.ts';
import { logFailure } from '../../request/failure-log.ts';
import type { Run, Step } from '../chat-completions/keyed-completion.ts';
import { responseEvents } from './response-events.ts';
import { endOf, failureOf, outcomeOf, type ResponseHead, type ResponseOutcome } from './response-resource.ts';
import { openEventStream } from '../../events/sse.ts';

/** Yields the output in pieces and returns the outcome. Throws if the turn cannot be followed. */
export type Telling = AsyncGenerator<string, ResponseOutcome, void>;

/** A turn that runs, from its first step on where that was heard already. */
export async function* tellRun(run: Run, first?: Step): Telling {
  let said = '';
  for (let step = first ?? (await run()); ; step = await run()) {
    if (step.done === true) {
      const { response, finishReason, toolCalls: calls, tokensUsed: usage } = step.value;
      const endedAt = Math.floor(Date.now() / 1_000);
      return { ...endOf(finishReason), text: said === '' ? response : said, calls, usage, endedAt };
    }
    if (step.value.type !== 'delta') continue;
    said += step.value.text;
    yield step.value.text;
  }
}

/** A response that has ended, in the pieces in which it was told the first time. */
export async function* tellAgain(state: ResponseState): Telling {
  const { said = '', pieces = [] } = state;
  let at = 0;
  for (const chars of pieces) yield said.slice(at, (at += chars));
  return outcomeOf(state);
}

export interface Sending {
  head: ResponseHead;
  telling: Telling;
  /** The number of the last event that the client has. */
  after?: number | undefined;
  headers?: Record<string, string>;
  /** How a response that is kept is by now, for one that cannot be followed. */
  now?: (() => Promise<ResponseState>) | undefined;
}

/** Sends a response as events. However it ends, its last event says so. */
export async function sendEvents(edge: Edge, { request, reply }: { request: FastifyRequest; reply: FastifyReply }, sending: Sending) {
  const { head, telling, after, headers = {}, now } = sending;
  const events = responseEvents(head, after);
  const [first = ': on\n\n', ...begun] = events.begin();
  let wake = Promise.withResolvers<void>();
  const stream = openEventStream(reply, {
    first,
    headers,
    admitted: () => edge.tokens.mayStream(request.caller),
    onDrain: () => wake.resolve(),
    onClose: () => wake.resolve(),
  });
  /** Writes one event at a time and waits until the client has received it. */
  const write = async (all: readonly string[]): Promise<void> => {
    for (const event of all) stream.write(event);
    if (!stream.behind || reply.raw.destroyed) return;
    wake = Promise.withResolvers();
    await wake.promise;
  };
  await write(begun);
  try {
    for (;;) {
      const step = await telling.next();
      await write(step.done === true ? events.end(step.value) : events.say(step.value));
      if (step.done === true) break;
    }
  } catch (thrown) {
    if (reply.raw.destroyed) return;
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    logFailure(edge, request, error);
    const outcome = now === undefined ? toldFailure(error) : await now().then(outcomeOf, () => undefined);
    const ended = outcome !== undefined && outcome.status !== 'in_progress';
    await write(ended ? events.end(outcome) : events.lose({ code: 'server_error', message: error.message }));
  }
  stream.end(DONE);
}

/** The failure of a stateless turn is its outcome. */
function toldFailure({ code, message, details }: ServiceError): ResponseOutcome {
  return { ...failureOf({ code, message, reason: details.reason }), text: '' };
}
