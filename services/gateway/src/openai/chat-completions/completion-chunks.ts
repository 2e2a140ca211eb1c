import { randomUUID } from 'node:crypto';
import type { CallerToolCall, StatelessResult } from '@switchyard/contracts';

/** Fields of every chunk of one completion. */
export interface CompletionHead {
  id: string;
  /** Seconds. */
  created: number;
  /** The model name from the request. */
  model: string;
}

export function createCompletionHead(model: string): CompletionHead {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000), model };
}

/** Returns `tool_calls` when the caller must run tools, `length` when the turn ran out of steps, and `stop` otherwise. */
function toFinishReason({ finishReason }: StatelessResult): 'stop' | 'length' | 'tool_calls' {
  if (finishReason === 'tool_calls') return 'tool_calls';
  return finishReason === 'max_steps' ? 'length' : 'stop';
}

function toToolCall({ callId, name, arguments: args }: CallerToolCall) {
  return { id: callId, type: 'function', function: { name, arguments: args } };
}

function toMessage({ response, toolCalls }: StatelessResult) {
  if (toolCalls === undefined) return { role: 'assistant', content: response };
  return { role: 'assistant', content: response === '' ? null : response, tool_calls: toolCalls.map(toToolCall) };
}

function toUsage({ tokensUsed: { input, output, total } }: StatelessResult) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total };
}

/** Creates the body of a non-streaming response. */
export function createCompletion({ id, created, model }: CompletionHead, result: StatelessResult) {
  const choices = [{ index: 0, message: toMessage(result), finish_reason: toFinishReason(result) }];
  return { id, object: 'chat.completion', created, model, choices, usage: toUsage(result) };
}

/** The frames of a streamed completion, in the order in which they are sent. */
export interface CompletionChunks {
  readonly role: string;
  content(text: string): string;
  /** One chunk per tool call, with its complete arguments. */
  toolCalls(result: StatelessResult): string[];
  finish(result: StatelessResult): string;
  usage(result: StatelessResult): string;
}

export const DONE = 'data: [DONE]\n\n';

/** Renders the constant part of the chunks once. */
export function createCompletionChunks({ id, created, model }: CompletionHead): CompletionChunks {
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`;
  const choice = `${head}{"index":0,"delta":`;
  const tail = ',"finish_reason":null}]}\n\n';
  return {
    role: `${choice}{"role":"assistant"}${tail}`,
    content: (text) => `${choice}{"content":${JSON.stringify(text)}}${tail}`,
    toolCalls: ({ toolCalls = [] }) =>
      toolCalls.map((call, index) => `${choice}${JSON.stringify({ tool_calls: [{ index, ...toToolCall(call) }] })}${tail}`),
    finish: (result) => `${choice}{},"finish_reason":"${toFinishReason(result)}"}]}\n\n`,
    usage: (result) => `${head}],"usage":${JSON.stringify(toUsage(result))}}\n\n`,
  };
}
