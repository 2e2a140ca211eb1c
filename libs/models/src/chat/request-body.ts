import type { Attempt } from '../model/adapter.ts';
import type { JsonFormat, ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from '../model/model.ts';
import { withCacheMarks, type ChatMessage } from './cache-marks.ts';
import type { Dialect } from './dialect.ts';
import { retentionOf } from './cache-retention.ts';

/** A request in the words of chat completions, as this model understands them, as JSON: bytes where tools stand in it. */
export function requestBody({ request, whole }: Pick<Attempt, 'request' | 'whole'>, dialect: Dialect): string | Buffer {
  const { model, temperature, maxTokens, toolChoice, stop, format } = request;
  const tools = dialect.tools ? (request.tools ?? NONE) : NONE;
  // What is undefined is left out.
  const body = JSON.stringify({
    model: model.modelId,
    messages: messagesOf(request, dialect),
    [dialect.limitName]: maxTokens,
    temperature,
    stop,
    response_format: format === undefined ? undefined : formatOf(format),
    web_search_options: dialect.search && toolChoice !== 'none' ? {} : undefined,
    tool_choice: tools.length === 0 || toolChoice === undefined ? undefined : choiceOf(toolChoice),
    ...wishesTold(request, dialect),
    ...(whole ? { stream: false } : { stream: true, stream_options: dialect.usageInStream ? { include_usage: true } : undefined }),
  });
  return tools.length === 0 ? body : withTools(body, toolsIn(tools, dialect));
}

const NONE: readonly ToolSpec[] = [];

function messagesOf(request: ModelRequest, dialect: Dialect): object[] {
  const { system, messages } = request;
  const said = messages.map((message) => messageOf(message, dialect));
  const all = system === undefined ? said : [{ role: 'system', content: system }, ...said];
  return dialect.cacheMarks ? withCacheMarks(all, request) : all;
}

function messageOf(message: ModelMessage, dialect: Dialect): ChatMessage {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') {
    const name = dialect.namesResults ? message.name : undefined;
    return { role: 'tool', tool_call_id: dialect.callId(message.callId), name, content: resultOf(message.result) };
  }
  const { text, toolCalls = [] } = message;
  if (toolCalls.length === 0) return { role: 'assistant', content: text };
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: toolCalls.map((call) => callOf(call, dialect)) };
}

function callOf({ callId, name, input, text }: ToolCall, dialect: Dialect): object {
  // Upstreams refuse a history whose arguments are not an object, so text that was none is shown to the model as text.
  const shown = typeof input === 'string' ? JSON.stringify({ unparsed: input }) : text;
  return { id: dialect.callId(callId), type: 'function', function: { name, arguments: shown } };
}

function resultOf(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
}

/** An agent is offered the same list for as long as it is configured the same, and its schemas are long: they are encoded once. */
const rendered = new WeakMap<Dialect['toolForm'], WeakMap<readonly ToolSpec[], Buffer>>();

/** How a body ends that offers these tools. */
function toolsIn(tools: readonly ToolSpec[], { toolForm }: Dialect): Buffer {
  let known = rendered.get(toolForm);
  if (known === undefined) rendered.set(toolForm, (known = new WeakMap()));
  let end = known.get(tools);
  if (end === undefined) known.set(tools, (end = Buffer.from(`,"tools":${JSON.stringify(tools.map((tool) => toolOf(tool, toolForm)))}}`)));
  return end;
}

function withTools(body: string, end: Buffer): Buffer {
  const beginning = Buffer.from(body);
  const whole = Buffer.allocUnsafe(beginning.length - 1 + end.length);
  // Over the brace that ended it.
  beginning.copy(whole);
  end.copy(whole, beginning.length - 1);
  return whole;
}

function toolOf({ name, description, parameters, strict }: ToolSpec, { schema, saysStrict }: Dialect['toolForm']): object {
  return { type: 'function', function: { name, description, parameters: schema(parameters), strict: saysStrict ? strict : undefined } };
}

function choiceOf(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

function formatOf({ schema, name = 'response', strict = false }: JsonFormat): object {
  return schema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: { name, schema, strict } };
}

/** What an agent wishes beside an answer, as this upstream has words for it. What it has none for is not said: it would refuse. */
function wishesTold(request: Pick<ModelRequest, 'wishes' | 'model'>, dialect: Dialect): object {
  const { wishes } = request;
  if (wishes === undefined) return {};
  const { thinkingLevel, fastMode, storeCompletions } = wishes;
  return {
    ...(thinkingLevel !== undefined && dialect.effort ? { reasoning_effort: thinkingLevel === 'off' ? 'none' : thinkingLevel } : {}),
    ...(fastMode === true && dialect.family === 'openai' ? { service_tier: 'priority' } : {}),
    ...(storeCompletions === true && dialect.store ? { store: true } : {}),
    ...(dialect.retentions === undefined ? {} : { prompt_cache_retention: dialect.retentions[retentionOf(request)] }),
  };
}
