import type { Attempt } from '../adapter.ts';
import type { JsonFormat, ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from '../model.ts';

export interface BodyOptions {
  /** The name that the upstream has for the limit of an answer. */
  limitName: 'max_tokens' | 'max_completion_tokens';
}

/** A request in the words of chat completions, as JSON: bytes where tools stand in it. */
export function requestBody({ request, whole }: Pick<Attempt, 'request' | 'whole'>, { limitName }: BodyOptions): string | Buffer {
  const { model, temperature, maxTokens, tools = [], toolChoice, stop, format } = request;
  // What is undefined is left out.
  const body = JSON.stringify({
    model: model.modelId,
    messages: messagesOf(request),
    [limitName]: maxTokens,
    temperature,
    stop,
    response_format: format === undefined ? undefined : formatOf(format),
    tool_choice: tools.length === 0 || toolChoice === undefined ? undefined : choiceOf(toolChoice),
    ...(whole ? { stream: false } : { stream: true, stream_options: { include_usage: true } }),
  });
  return tools.length === 0 ? body : withTools(body, tools);
}

function messagesOf({ system, messages }: ModelRequest): object[] {
  const said = messages.map(messageOf);
  return system === undefined ? said : [{ role: 'system', content: system }, ...said];
}

function messageOf(message: ModelMessage): object {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.callId, content: resultOf(message.result) };
  const { text, toolCalls = [] } = message;
  if (toolCalls.length === 0) return { role: 'assistant', content: text };
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: toolCalls.map(callOf) };
}

function callOf({ callId, name, input, text }: ToolCall): object {
  // Upstreams refuse a history whose arguments are not an object, so text that was none is shown to the model as text.
  const shown = typeof input === 'string' ? JSON.stringify({ unparsed: input }) : text;
  return { id: callId, type: 'function', function: { name, arguments: shown } };
}

function resultOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}

/** An agent is offered the same list for as long as it is configured the same, and its schemas are long: they are encoded once. */
const rendered = new WeakMap<readonly ToolSpec[], Buffer>();

function withTools(body: string, tools: readonly ToolSpec[]): Buffer {
  let end = rendered.get(tools);
  if (end === undefined) rendered.set(tools, (end = Buffer.from(`,"tools":${JSON.stringify(tools.map(toolOf))}}`)));
  const beginning = Buffer.from(body);
  const whole = Buffer.allocUnsafe(beginning.length - 1 + end.length);
  // Over the brace that ended it.
  beginning.copy(whole);
  end.copy(whole, beginning.length - 1);
  return whole;
}

function toolOf({ name, description, parameters, strict }: ToolSpec): object {
  return { type: 'function', function: { name, description, parameters, strict } };
}

function choiceOf(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function formatOf({ schema, name = 'response', strict = false }: JsonFormat): object {
  return schema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: { name, schema, strict } };
}
