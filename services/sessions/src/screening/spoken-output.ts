import { createOutputGuard, createReasoningFilter, outputWarnings } from '@switchyard/security';
import type { OutputFinding } from './output-finding.ts';
import type { LEFT_ALONE, Said } from '../turns/model-step.ts';
import type { FrameBody } from '../turns/turn-plan.ts';

export interface OutputGiven {
  /** Only what stands in `<final>` is the answer. */
  finalOnly?: boolean | undefined;
  found?: ((finding: OutputFinding) => void) | undefined;
}

type Answering = AsyncGenerator<FrameBody, Said | typeof LEFT_ALONE, void>;

/**
 * An answer as it may leave: without what its model thought aloud, and without secrets, wherever its pieces cut them. What is kept of it
 * is what was said. Only what could be the beginning of such a thing waits for the next piece.
 */
export async function* spokenOutput(answering: Answering, { finalOnly = false, found }: OutputGiven): Answering {
  const reasoning = createReasoningFilter(finalOnly);
  const guard = createOutputGuard();
  let text = '';
  let streamed = false;
  const say = (piece: string): string => {
    text += piece;
    return piece;
  };
  for (;;) {
    const step = await answering.next();
    if (step.done) {
      if (typeof step.value === 'string') return step.value;
      if (!streamed) say(guard.push(reasoning.push(step.value.text)));
      const rest = say(guard.push(reasoning.end()) + guard.end());
      if (streamed && rest !== '') yield { type: 'delta', text: rest };
      const finding = { redacted: guard.found, warned: outputWarnings(text) };
      if (finding.redacted.length + finding.warned.length > 0) found?.(finding);
      // What was said as it is stays the value that it is: some are known by themselves.
      return step.value.text === text ? step.value : { ...step.value, text };
    }
    if (step.value.type !== 'delta') {
      yield step.value;
      continue;
    }
    streamed = true;
    const piece = say(guard.push(reasoning.push(step.value.text)));
    if (piece !== '') yield { type: 'delta', text: piece };
  }
}
