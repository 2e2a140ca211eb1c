import type { ModelMessage } from '@switchyard/models';

/** Detects a model that repeats itself: consecutive steps with the same text, calls and results. */
export interface LoopDetector {
  /** Adds a step that starts at this message. Returns true if it was repeated too often. */
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
