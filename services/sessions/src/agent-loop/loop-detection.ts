import type { ModelMessage } from '@switchyard/models';

/** Notices a model that goes in circles: what it says, what it calls and what it is answered are the same, step after step. */
export interface LoopDetector {
  /** A step was made, which began at this place of the conversation. True where it was one too many of the same. */
  addStep: (messages: readonly ModelMessage[], from: number) => boolean;
}

export function createLoopDetector(maxRepeats: number | undefined): LoopDetector {
  let last = '';
  let count = 0;
  return {
    addStep(messages, from) {
      if (maxRepeats === undefined) return false;
      const now = JSON.stringify(messages.slice(from).map(withoutIds));
      count = now === last ? count + 1 : 1;
      last = now;
      return count >= maxRepeats;
    },
  };
}

/** Call ids differ in every step. */
function withoutIds(message: ModelMessage): unknown {
  if (message.role === 'tool') return [message.name, message.result];
  return [message.text, message.role === 'assistant' ? message.toolCalls?.map(({ name, text }) => [name, text]) : []];
}
