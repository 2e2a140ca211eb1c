import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { ModelMessage, ModelRequest, ToolCall, ToolSpec } from './model.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type CallOptions = Omit<LanguageModelV4CallOptions, 'abortSignal'>;

/** A request in the words of the provider layer. */
export function toCallOptions(request: ModelRequest): CallOptions {
  const { temperature, maxTokens, tools } = request;
  return {
    prompt: toPrompt(request),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: tools.map(toTool) }),
  };
}

function toPrompt({ system, messages }: ModelRequest): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = system === undefined ? [] : [{ role: 'system', content: system }];
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(toResult(message));
    else prompt.push(toMessage(message));
  }
  return prompt;
}

function toMessage(message: ModelMessage): LanguageModelV4Message {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.text }] };
  if (message.role === 'tool') return { role: 'tool', content: [toResult(message)] };
  const text = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }];
  return { role: 'assistant', content: [...text, ...(message.toolCalls ?? []).map(toCall)] };
}

function toCall({ callId, name, input }: ToolCall) {
  // Upstreams refuse a history whose arguments are not an object, so text that was none is shown to the model as text.
  const shown = typeof input === 'string' ? { unparsed: input } : input;
  return { type: 'tool-call' as const, toolCallId: callId, toolName: name, input: shown };
}

function toResult({ callId, name, result, failed }: ToolMessage) {
  const value = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  return {
    type: 'tool-result' as const,
    toolCallId: callId,
    toolName: name,
    output: { type: failed ? ('error-text' as const) : ('text' as const), value },
  };
}

function toTool({ name, description, parameters }: ToolSpec): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema: parameters };
}
