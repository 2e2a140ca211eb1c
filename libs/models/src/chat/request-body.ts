import type { Attempt } from '../model/adapter.ts';
import type { JsonFormat, ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from '../model/model.ts';
import { withCacheMarks, type ChatMessage } from './cache-marks.ts';
import type { Dialect } from './dialect.ts';
import { toWellFormedJson } from '../http/json-text.ts';
import { getRetention } from './cache-retention.ts';

/** Renders a chat completions request as JSON. With tools the result is a buffer, because rendered tools are cached as bytes. */
export function buildRequestBody({ request, nonStreaming }: Pick<Attempt, 'request' | 'nonStreaming'>, dialect: Dialect): string | Buffer {
  const { model, temperature, maxTokens, toolChoice, stop, format } = request;
  const tools = dialect.tools ? (request.tools ?? NONE) : NONE;
  // Undefined fields are omitted.
  const body = stringify({
    model: model.modelId,
    messages: renderMessages(request, dialect),
    [dialect.limitName]: maxTokens,
    temperature,
    stop,
    response_format: format === undefined ? undefined : renderFormat(format),
    web_search_options: dialect.search && toolChoice !== 'none' ? {} : undefined,
    tool_choice: tools.length === 0 || toolChoice === undefined ? undefined : renderToolChoice(toolChoice),
    ...renderPreferences(request, dialect),
    ...(nonStreaming ? { stream: false } : { stream: true, stream_options: dialect.usageInStream ? { include_usage: true } : undefined }),
  });
  return tools.length === 0 ? body : appendTools(body, renderTools(tools, dialect));
}

const NONE: readonly ToolSpec[] = [];

function stringify(value: object): string {
  return toWellFormedJson(JSON.stringify(value));
}

function renderMessages(request: ModelRequest, dialect: Dialect): object[] {
  const { system, messages } = request;
  const rendered_ = messages.map((message) => renderMessage(message, dialect, request.model.provider));
  const all = system === undefined ? rendered_ : [{ role: 'system', content: system }, ...rendered_];
  return dialect.cacheMarks ? withCacheMarks(all, request) : all;
}

function renderMessage(message: ModelMessage, dialect: Dialect, provider: string): ChatMessage {
  if (message.role === 'user') return { role: 'user', content: renderUserContent(message) };
  if (message.role === 'tool') {
    const name = dialect.sendsToolResultName ? message.name : undefined;
    return { role: 'tool', tool_call_id: dialect.callId(message.callId), name, content: renderResult(message.result) };
  }
  const { text, toolCalls = [], providerFields } = message;
  const isOwn = dialect.providerFields && providerFields?.provider === provider;
  const fields = isOwn ? providerFields.fields : undefined;
  if (toolCalls.length === 0) return { ...fields, role: 'assistant', content: text };
  const calls = toolCalls.map((call) => ({ ...(isOwn ? call.providerFields : undefined), ...renderCall(call, dialect) }));
  return { ...fields, role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
}

function renderUserContent({ text, images }: Extract<ModelMessage, { role: 'user' }>): string | object[] {
  if (images === undefined) return text;
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...images.map((url) => ({ type: 'image_url', image_url: { url } }))];
}

function renderCall({ callId, name, input, text }: ToolCall, dialect: Dialect): object {
  // Providers reject arguments that are not an object, so invalid text is wrapped.
  const output = typeof input === 'string' ? JSON.stringify({ unparsed: input }) : text;
  return { id: dialect.callId(callId), type: 'function', function: { name, arguments: output } };
}

function renderResult(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}

/** Rendered tools by list. An agent's list stays the same until it is reconfigured, and rendering large schemas is expensive. */
const rendered = new WeakMap<Dialect['toolFormat'], WeakMap<readonly ToolSpec[], Buffer>>();

/** Renders the end of a body with tools. */
function renderTools(tools: readonly ToolSpec[], { toolFormat: toolForm }: Dialect): Buffer {
  let byTools = rendered.get(toolForm);
  if (byTools === undefined) rendered.set(toolForm, (byTools = new WeakMap()));
  let toolsJson = byTools.get(tools);
  if (toolsJson === undefined)
    byTools.set(tools, (toolsJson = Buffer.from(`,"tools":${stringify(tools.map((tool) => renderTool(tool, toolForm)))}}`)));
  return toolsJson;
}

function appendTools(body: string, toolsJson: Buffer): Buffer {
  const bodyBytes = Buffer.from(body);
  const result = Buffer.allocUnsafe(bodyBytes.length - 1 + toolsJson.length);
  // Overwrites the closing brace.
  bodyBytes.copy(result);
  toolsJson.copy(result, bodyBytes.length - 1);
  return result;
}

function renderTool(
  { name, description, parameters, strict }: ToolSpec,
  { schema, sendsStrict: saysStrict }: Dialect['toolFormat'],
): object {
  return { type: 'function', function: { name, description, parameters: schema(parameters), strict: saysStrict ? strict : undefined } };
}

function renderToolChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function renderFormat({ schema, name = 'response', strict = false }: JsonFormat): object {
  return schema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: { name, schema, strict } };
}

/** Renders the preferences that the provider supports. Unsupported fields are omitted, because providers reject them. */
function renderPreferences(request: Pick<ModelRequest, 'preferences' | 'model'>, dialect: Dialect): object {
  const { preferences } = request;
  if (preferences === undefined) return {};
  const { thinkingLevel, fastMode, storeCompletions } = preferences;
  return {
    ...(thinkingLevel !== undefined && dialect.supportsEffort
      ? { reasoning_effort: thinkingLevel === 'off' ? 'none' : thinkingLevel }
      : {}),
    ...(fastMode === true && dialect.family === 'openai' ? { service_tier: 'priority' } : {}),
    ...(storeCompletions === true && dialect.supportsStore ? { store: true } : {}),
    ...(dialect.retentionValues === undefined ? {} : { prompt_cache_retention: dialect.retentionValues[getRetention(request)] }),
  };
}
