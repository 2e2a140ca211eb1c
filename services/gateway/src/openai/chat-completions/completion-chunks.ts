import { randomUUID } from 'node:crypto';
import type { CallerToolCall, StatelessResult } from '@switchyard/contracts';

/** Fields of every chunk of one completion. */
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

/** Only a turn that ran out of steps was cut short; unless tools of the caller's are to be run, every other end is a stop. */
function finishReasonOf({ finishReason }: StatelessResult): 'stop' | 'length' | 'tool_calls' {
  if (finishReason === 'tool_calls') return 'tool_calls';
  return finishReason === 'max_steps' ? 'length' : 'stop';
}

function toolCallOf({ callId, name, arguments: written }: CallerToolCall) {
  return { id: callId, type: 'function', function: { name, arguments: written } };
}

function messageOf({ response, toolCalls }: StatelessResult) {
  if (toolCalls === undefined) return { role: 'assistant', content: response };
  return { role: 'assistant', content: response === '' ? null : response, tool_calls: toolCalls.map(toolCallOf) };
}

function usageOf({ tokensUsed: { input, output, total } }: StatelessResult) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total };
}

/** The whole answer of a request that does not stream. */
export function completionAnswer({ id, created, model }: CompletionHead, result: StatelessResult) {
  const choices = [{ index: 0, message: messageOf(result), finish_reason: finishReasonOf(result) }];
  return { id, object: 'chat.completion', created, model, choices, usage: usageOf(result) };
}

/** The frames of a streamed completion, in the order in which they are sent. */
export interface CompletionChunks {
  readonly role: string;
  content(text: string): string;
  /** A chunk for each tool that the caller is to run; each call is whole. */
  toolCalls(result: StatelessResult): string[];
  finish(result: StatelessResult): string;
  usage(result: StatelessResult): string;
}

export const DONE = 'data: [DONE]\n\n';

/** The constant part of the chunks is rendered once. */
export function completionChunks({ id, created, model }: CompletionHead): CompletionChunks {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`;
  const choice = `${head}{"index":0,"delta":`;
  const open = ',"finish_reason":null}]}\n\n';
  return {
    role: `${choice}{"role":"assistant"}${open}`,
    content: (text) => `${choice}{"content":${JSON.stringify(text)}}${open}`,
    toolCalls: ({ toolCalls = [] }) =>
      toolCalls.map((call, index) => `${choice}${JSON.stringify({ tool_calls: [{ index, ...toolCallOf(call) }] })}${open}`),
    finish: (result) => `${choice}{},"finish_reason":"${finishReasonOf(result)}"}]}\n\n`,
    usage: (result) => `${head}],"usage":${JSON.stringify(usageOf(result))}}\n\n`,
  };
}
