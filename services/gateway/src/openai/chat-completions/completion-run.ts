import type { Bus } from '@switchyard/bus';
import type { StatelessResult } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CompletionStream } from './completion-stream.ts';
import { toServiceError } from '../../turns/turn-errors.ts';
import type { CompletionRequest } from './completion-body.ts';
import type { ResponseClient, NextStep, Step } from './keyed-completion.ts';

/** A turn and the client that receives its output. */
export type RunOptions = ResponseClient & { completion: Pick<CompletionRequest, 'turn'> };

/** Starts a stateless turn. A disconnect of the client cancels it. */
export function startStatelessTurn(bus: Bus, { completion, caller, ids, response }: RunOptions, turnId = mintId('turn')): NextStep {
  const turn = { ...completion.turn, turnId };
  const disconnected = new AbortController();
  response.once('close', () => void (response.writableFinished || disconnected.abort()));
  if (response.destroyed) disconnected.abort();
  const frames = bus.as(caller.principal).stream('turns.run', turn, { ...ids, signal: disconnected.signal });
  return async () => {
    const step = await frames.next();
    if (!step.done && step.value.type === 'error') throw toServiceError(step.value.error);
    return step;
  };
}

/** Reads up to the first output, so that an earlier failure can be sent as an HTTP status. */
export function readFirstOutput(nextStep: NextStep): Promise<Step> {
  return readUntil(nextStep, hasOutput);
}

export async function readResult(nextStep: NextStep): Promise<StatelessResult> {
  const end = await readUntil(nextStep, ({ done }) => done === true);
  return end.value as StatelessResult;
}

async function readUntil(nextStep: NextStep, isLast: (step: Step) => boolean): Promise<Step> {
  let step = await nextStep();
  while (!isLast(step)) step = await nextStep();
  return step;
}

/** Whether a step contains output or ends the turn. */
function hasOutput(step: Step): boolean {
  return step.done === true || (step.value.type !== 'accepted' && step.value.type !== 'step');
}

/** Streams the text of a turn, starting with `step`. */
export async function streamChunks(stream: CompletionStream, nextStep: NextStep, step: Step): Promise<void> {
  try {
    let current = step;
    for (; !current.done; current = await nextStep()) if (current.value.type === 'delta') stream.text(current.value.text);
    stream.finish(current.value);
  } catch (error) {
    stream.fail(error);
  }
}
