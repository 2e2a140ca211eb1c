import { randomUUID } from 'node:crypto';
import type { TurnResult } from '@switchyard/contracts';

/** What all parts of one completion carry. */
export interface CompletionHead {
  id: string;
  /** Seconds. */
  created: number;
  /** As the client named it. */
  model: string;
}

export function completionHead(model: string): CompletionHead {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000), model };
}

/** Only a turn that ran out of steps was cut short; every other end is a stop (document 2). */
function finishReasonOf({ finishReason }: TurnResult): 'stop' | 'length' {
  return finishReason === 'max_steps' ? 'length' : 'stop';
}

function usageOf({ tokensUsed: { input, output, total } }: TurnResult) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total };
}

/** The whole answer of a request that does not stream. */
export function completionAnswer({ id, created, model }: CompletionHead, result: TurnResult) {
  const message = { role: 'assistant', content: result.response };
  const choices = [{ index: 0, message, finish_reason: finishReasonOf(result) }];
  return { id, object: 'chat.completion', created, model, choices, usage: usageOf(result) };
}

/** The frames of a streamed completion, in the order in which they are sent. */
export interface CompletionChunks {
  readonly role: string;
  content(text: string): string;
  finish(result: TurnResult): string;
  usage(result: TurnResult): string;
}

export const DONE = 'data: [DONE]\n\n';

/** What is the same in every frame is rendered once. */
export function completionChunks({ id, created, model }: CompletionHead): CompletionChunks {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`;
  const choice = `${head}{"index":0,"delta":`;
  const open = ',"finish_reason":null}]}\n\n';
  return {
    role: `${choice}{"role":"assistant"}${open}`,
    content: (text) => `${choice}{"content":${JSON.stringify(text)}}${open}`,
    finish: (result) => `${choice}{},"finish_reason":"${finishReasonOf(result)}"}]}\n\n`,
    usage: (result) => `${head}],"usage":${JSON.stringify(usageOf(result))}}\n\n`,
  };
}
