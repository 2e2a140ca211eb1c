import { ServiceError, type ResponseState } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { DONE } from '../chat-completions/completion-chunks.ts';
import { logFailure } from '../../request/failure-log.ts';
import type { NextStep, Step } from '../chat-completions/keyed-completion.ts';
import { createResponseEvents } from './response-events.ts';
import { toOutcomeStatus, toFailedOutcome, toOutcome, type ResponseHead, type ResponseOutcome } from './response-resource.ts';
import { openEventStream } from '../../events/sse.ts';

/** Yields the output in pieces and returns the outcome. Throws if the turn cannot be followed. */
export type ResponseOutput = AsyncGenerator<string, ResponseOutcome, void>;

/** Streams the output of a running turn. `first` is its first step, if that was read already. */
export async function* streamOutput(nextStep: NextStep, first?: Step): ResponseOutput {
  let text = '';
  for (let step = first ?? (await nextStep()); ; step = await nextStep()) {
    if (step.done === true) {
      const { response, finishReason, filtered, toolCalls: calls, providerFields, tokensUsed: usage } = step.value;
      const endedAt = Math.floor(Date.now() / 1_000);
      return { ...toOutcomeStatus({ finishReason, filtered }), text: text === '' ? response : text, calls, providerFields, usage, endedAt };
    }
    if (step.value.type !== 'delta') continue;
    text += step.value.text;
    yield step.value.text;
  }
}

/** Replays an ended response in the pieces in which it was streamed before. */
export async function* replayOutput(state: ResponseState): ResponseOutput {
  const { said: text = '', pieces = [] } = state;
  let offset = 0;
  for (const chars of pieces) yield text.slice(offset, (offset += chars));
  return toOutcome(state);
}

export interface SendEventsOptions {
  head: ResponseHead;
  output: ResponseOutput;
  /** The number of the last event that the client received. */
  after?: number | undefined;
  headers?: Record<string, string>;
  /** Reads the state of a stored response that cannot be followed. */
  readState?: (() => Promise<ResponseState>) | undefined;
}

/** Sends a response as events. The last event reports its end, also after a failure. */
export async function sendEvents(
  edge: Edge,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  sending: SendEventsOptions,
) {
  const { head, output, after, headers = {}, readState } = sending;
  const events = createResponseEvents(head, after);
  const [first = ': on\n\n', ...opening] = events.begin();
  let wake = Promise.withResolvers<void>();
  const stream = openEventStream(reply, {
    first,
    headers,
    isAuthorized: () => edge.tokens.mayStream(request.caller),
    onDrain: () => wake.resolve(),
    onClose: () => wake.resolve(),
  });
  /** Writes one event at a time and waits until the client has received it. */
  const write = async (batch: readonly string[]): Promise<void> => {
    for (const event of batch) stream.write(event);
    if (!stream.needsDrain || reply.raw.destroyed) return;
    wake = Promise.withResolvers();
    await wake.promise;
  };
  await write(opening);
  try {
    for (;;) {
      const step = await output.next();
      await write(step.done === true ? events.end(step.value) : events.addText(step.value));
      if (step.done === true) break;
    }
  } catch (thrown) {
    if (reply.raw.destroyed) return;
    const error = thrown instanceof ServiceError ? thrown : new ServiceError('INTERNAL', 'Internal error', { cause: thrown });
    logFailure(edge, request, error);
    const outcome = readState === undefined ? toFailureOutcome(error) : await readState().then(toOutcome, () => undefined);
    const isFinal = outcome !== undefined && outcome.status !== 'in_progress';
    await write(isFinal ? events.end(outcome) : events.abort({ code: 'server_error', message: error.message }));
  }
  stream.end(DONE);
}

/** Converts the failure of a stateless turn to its outcome. */
function toFailureOutcome({ code, message, details }: ServiceError): ResponseOutcome {
  return { ...toFailedOutcome({ code, message, reason: details.reason }), text: '' };
}
