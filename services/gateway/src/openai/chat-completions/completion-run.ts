import type { Bus } from '@switchyard/bus';
import type { StatelessResult } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { CompletionStream } from './completion-stream.ts';
import { toServiceError } from '../../turns/turn-errors.ts';
import type { CompletionRequest } from './completion-body.ts';
import type { Reader, Run, Step } from './keyed-completion.ts';

/** Request of a turn that runs for one HTTP response. */
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
    if (!step.done && step.value.type === 'error') throw toServiceError(step.value.error);
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

/** Tells the rest of a turn, from its first word on. */
export async function tellChunks(stream: CompletionStream, run: Run, step: Step): Promise<void> {
  try {
    let now = step;
    for (; !now.done; now = await run()) if (now.value.type === 'delta') stream.text(now.value.text);
    stream.finish(now.value);
  } catch (error) {
    stream.fail(error);
  }
}
