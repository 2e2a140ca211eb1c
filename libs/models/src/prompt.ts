import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { JsonFormat, ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from './model.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;
type CallOptions = Omit<LanguageModelV4CallOptions, 'abortSignal'>;

/** A request in the words of the provider layer. */
export function toCallOptions(request: ModelRequest): CallOptions {
  const { temperature, maxTokens, tools, toolChoice, stop, format } = request;
  return {
    prompt: toPrompt(request),
    ...(toolChoice === undefined ? {} : { toolChoice: toChoice(toolChoice) }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(format === undefined ? {} : toFormat(format)),
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

function toCall({ callId, name, input, text }: ToolCall) {
  // Upstreams refuse a history whose arguments are not an object, so text that was none is shown to the model as text.
  // What is JSON goes back as it was written: the adapter passes on such text untouched.
  const shown = typeof input === 'string' ? { unparsed: input } : text;
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

function toTool({ name, description, parameters, strict }: ToolSpec): LanguageModelV4FunctionTool {
  return { type: 'function', name, description, inputSchema: parameters, ...(strict === undefined ? {} : { strict }) };
}

function toChoice(choice: ToolChoice): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}

function toFormat({ schema, name, strict = false }: JsonFormat): Pick<CallOptions, 'responseFormat' | 'providerOptions'> {
  const described = { ...(schema === undefined ? {} : { schema }), ...(name === undefined ? {} : { name }) };
  // The adapter would be strict unless it is told not to.
  return { responseFormat: { type: 'json', ...described }, providerOptions: { openaiCompatible: { strictJsonSchema: strict } } };
}
