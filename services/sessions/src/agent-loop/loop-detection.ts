import type { ModelMessage } from '@switchyard/models';

/** Notices a model that goes in circles: what it says, what it calls and what it is answered are the same, step after step. */
export interface Circles {
  /** A step was made, which began at this place of the conversation. True where it was one too many of the same. */
  step: (messages: readonly ModelMessage[], from: number) => boolean;
}

export function createCircles(most: number | undefined): Circles {
  let last = '';
  let count = 0;
  return {
    step(messages, from) {
      if (most === undefined) return false;
      const now = JSON.stringify(messages.slice(from).map(withoutIds));
      count = now === last ? count + 1 : 1;
      last = now;
      return count >= most;
    },
  };
}

/** The ids of calls are new each time. */
function withoutIds(message: ModelMessage): unknown {
  if (message.role === 'tool') return [message.name, message.result];
  return [message.text, message.role === 'assistant' ? message.toolCalls?.map(({ name, text }) => [name, text]) : []];
}
