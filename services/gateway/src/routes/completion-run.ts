import type { Bus } from '@switchyard/bus';
import { ServiceError, type StatelessResult } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Edge } from '../edge.ts';
import type { Exchange } from '../server/exchange.ts';
import { completionChunks, DONE, type CompletionHead } from './completion-chunks.ts';
import { errorFrame, failureError } from './errors.ts';
import type { CompletionRequest } from './completion-body.ts';
import type { Asked, Reader, Run, Step } from './keyed-completion.ts';
import { beginEventStream, createJoinedText } from './sse.ts';

/** What is asked of a turn that runs for one response. */
export type RunAsked = Reader & { completion: Pick<CompletionRequest, 'turn'> };

/** A turn that runs for one response and ends with it. */
export function startRun(bus: Bus, { completion, caller, ids, response }: RunAsked, turnId = mintId('turn')): Run {
  const turn = { ...completion.turn, turnId };
  const left = new AbortController();
  response.once('close', () => void (response.writableFinished || left.abort()));
  if (response.destroyed) left.abort();
  const frames = bus.as(caller.principal).stream('turns.run', turn, { ...ids, signal: left.signal });
  return async () => {
    const step = await frames.next();
    if (!step.done && step.value.type === 'error') throw failureError(step.value.error);
    return step;
  };
}

/** Until the first byte of a response is out, a failure can still be a status. */
export function firstWords(run: Run): Promise<Step> {
  return readUntil(run, saysMore);
}

export async function resultOf(run: Run): Promise<StatelessResult> {
  const end = await readUntil(run, ({ done }) => done === true);
  return end.value as StatelessResult;
}

async function readUntil(run: Run, enough: (step: Step) => boolean): Promise<Step> {
  let step = await run();
  while (!enough(step)) step = await run();
  return step;
}

/** Whether it says more than that the turn has begun. */
function saysMore(step: Step): boolean {
  return step.done === true || (step.value.type !== 'accepted' && step.value.type !== 'step');
}

export interface Chunked extends Asked {
  head: CompletionHead;
  run: Run;
  /** Where the turn is when the response begins. */
  step: Step;
  /** Those that any answer has, names and values in turn. */
  headers: readonly string[];
}

/** A failure ends the stream with an error frame and no finish chunk, so that no client takes a part for the whole. */
export async function sendChunks(edge: Edge, exchange: Exchange, { completion, caller, response, head, run, step, headers }: Chunked) {
  const chunks = completionChunks(head);
  response.once('finish', () => exchange.note());
  const stream = beginEventStream(response, headers, {
    first: chunks.role,
    admitted: () => edge.tokens.admits(caller),
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
    exchange.noteFailure(known);
    stream.write(errorFrame(known));
  }
  stream.end(DONE);
}
