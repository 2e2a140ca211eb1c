import { randomUUID } from 'node:crypto';
import type { CallerToolCall, StatelessResult } from '@switchyard/contracts';
import { readCustomInput } from '../tool-conversion.ts';
import type { CompletionRequest } from './completion-body.ts';

/** Fields of every chunk of one completion. */
export interface CompletionHead {
  id: string;
  /** Seconds. */
  created: number;
  /** The model name from the request. */
  model: string;
  /** Whether the client receives the fields of the provider, which the strict format does not have. */
  lenient?: boolean;
  /** Names of the functions that the client calls custom tools. */
  customTools?: readonly string[] | undefined;
}

export function createCompletionHead(
  { turn: { model }, customTools }: Pick<CompletionRequest, 'turn' | 'customTools'>,
  lenient: boolean,
): CompletionHead {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000), model, lenient, customTools };
}

/**
 * Returns `tool_calls` when the caller must run tools, `length` when the turn ran out of steps, and `stop` otherwise. Lenient clients also
 * receive `length` for a truncated answer and `content_filter` for a filtered one.
 */
function toFinishReason(
  { finishReason, filtered }: StatelessResult,
  lenient: boolean,
): 'stop' | 'length' | 'tool_calls' | 'content_filter' {
  if (finishReason === 'tool_calls') return 'tool_calls';
  if (lenient && filtered) return 'content_filter';
  return finishReason === 'max_steps' || (lenient && finishReason === 'output_starved') ? 'length' : 'stop';
}

function toToolCall(
  { callId, name, arguments: args, providerFields }: CallerToolCall,
  { lenient = false, customTools }: Pick<CompletionHead, 'lenient' | 'customTools'>,
) {
  const fields = lenient ? providerFields : undefined;
  if (customTools?.includes(name)) return { ...fields, id: callId, type: 'custom', custom: { name, input: readCustomInput(args) } };
  return { ...fields, id: callId, type: 'function', function: { name, arguments: args } };
}

function toMessage({ response, toolCalls, providerFields }: StatelessResult, head: CompletionHead) {
  const { lenient } = head;
  const fields = lenient ? providerFields : undefined;
  if (toolCalls === undefined) return { ...fields, role: 'assistant', content: response };
  const calls = toolCalls.map((call) => toToolCall(call, head));
  return { ...fields, role: 'assistant', content: response === '' ? null : response, tool_calls: calls };
}

function toUsage({ tokensUsed: { input, output, total } }: StatelessResult) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total };
}

/** Creates the body of a non-streaming response. */
export function createCompletion(head: CompletionHead, result: StatelessResult) {
  const { id, created, model, lenient = false } = head;
  const choices = [{ index: 0, message: toMessage(result, head), finish_reason: toFinishReason(result, lenient) }];
  return { id, object: 'chat.completion', created, model, choices, usage: toUsage(result) };
}

/** The frames of a streamed completion, in the order in which they are sent. */
export interface CompletionChunks {
  readonly role: string;
  content(text: string): string;
  /** One chunk with the fields of the provider, if the client receives them. */
  providerFields(result: StatelessResult): string[];
  /** One chunk per tool call, with its complete arguments. */
  toolCalls(result: StatelessResult): string[];
  finish(result: StatelessResult): string;
  usage(result: StatelessResult): string;
}

export const DONE = 'data: [DONE]\n\n';

/** Renders the constant part of the chunks once. */
export function createCompletionChunks(completion: CompletionHead): CompletionChunks {
  const { id, created, model, lenient = false } = completion;
  const head = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)},"choices":[`;
  const choice = `${head}{"index":0,"delta":`;
  const tail = ',"finish_reason":null}]}\n\n';
  return {
    role: `${choice}{"role":"assistant"}${tail}`,
    content: (text) => `${choice}{"content":${JSON.stringify(text)}}${tail}`,
    providerFields: ({ providerFields }) => (lenient && providerFields ? [`${choice}${JSON.stringify(providerFields)}${tail}`] : []),
    toolCalls: ({ toolCalls = [] }) =>
      toolCalls.map((call, index) => `${choice}${JSON.stringify({ tool_calls: [{ index, ...toToolCall(call, completion) }] })}${tail}`),
    finish: (result) => `${choice}{},"finish_reason":"${toFinishReason(result, lenient)}"}]}\n\n`,
    usage: (result) => `${head}],"usage":${JSON.stringify(toUsage(result))}}\n\n`,
  };
}
