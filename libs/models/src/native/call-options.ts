import type { Attempt } from '../model/adapter.ts';
import { selectCacheMarks } from '../chat/cache-marks.ts';
import type { ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from '../model/model.ts';
import { readReasoning } from './reasoning-fields.ts';
import type { ReasoningCache, CallReasoning } from './reasoning-cache.ts';
import type { CallOptions, NativeApi } from './native-apis.ts';

type Message = CallOptions['prompt'][number];
type Part = Extract<Message, { role: 'assistant' }>['content'][number];

/** The properties of one model of a native API. */
export interface ModelProfile {
  api: NativeApi;
  /** The reasoning cache; undefined if the model receives no earlier reasoning. */
  reasoning: ReasoningCache | undefined;
  /** Whether the model accepts tools. */
  tools: boolean;
  /** Whether the provider's web search tool is added. */
  search: boolean;
  /** The default output limit. */
  maxTokens: number | undefined;
}

/** Builds the call options of the AI SDK. */
export function buildCallOptions({ request, signal }: Pick<Attempt, 'request' | 'signal'>, profile: ModelProfile): CallOptions {
  const { temperature, maxTokens = profile.maxTokens, stop, format, toolChoice } = request;
  const tools = profile.tools ? (request.tools ?? NONE) : NONE;
  return {
    prompt: renderPrompt(request, profile),
    abortSignal: signal,
    providerOptions: profile.api.defaultOptions,
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(format === undefined ? {} : { responseFormat: { type: 'json', schema: format.schema, name: format.name ?? 'response' } }),
    ...(tools.length === 0 ? {} : { tools: [...tools.map(renderTool), ...(profile.search ? [profile.api.searchTool] : [])] }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { toolChoice: renderToolChoice(toolChoice) }),
    reasoning: selectReasoning(request, profile),
  };
}

const NONE: readonly ToolSpec[] = [];

/** Selects the reasoning level. An API that requires reasoning blocks before tool results gets none if they are not cached, or if a tool call is forced. */
function selectReasoning(request: ModelRequest, { api, reasoning }: ModelProfile): NonNullable<CallOptions['reasoning']> {
  const { preferences, messages, toolChoice } = request;
  const level = preferences?.thinkingLevel;
  if (level === undefined) return 'provider-default';
  if (level === 'off') return 'none';
  if (!api.requiresReasoning) return level;
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  const last = messages.at(-1)?.role === 'tool' ? messages.findLast(({ role }) => role === 'assistant') : undefined;
  const lookUp = createReasoningLookup(request, reasoning);
  const isMissing = getCalls(last).some((call) => last !== undefined && (lookUp(call, last)?.blocks.length ?? 0) === 0);
  return isForced || isMissing ? 'none' : level;
}

function getCalls(message: ModelMessage | undefined): readonly ToolCall[] {
  return message?.role === 'assistant' ? (message.toolCalls ?? []) : [];
}

function renderPrompt(request: ModelRequest, profile: ModelProfile): CallOptions['prompt'] {
  const { system, messages } = request;
  const firstWithReasoning = findFirstWithReasoning(request);
  const lookUp = createReasoningLookup(request, profile.reasoning);
  const rendered = messages.map((message, at) => renderMessage(message, at < firstWithReasoning ? noReasoning : lookUp));
  const all: Message[] = system === undefined ? rendered : [{ role: 'system', content: system }, ...rendered];
  const marks = profile.api.usesCacheMarks ? selectCacheMarks(all, request) : undefined;
  const marked =
    marks === undefined ? all : all.map((message, at) => (marks.at.has(at) ? withMark(message, profile, marks.mark) : message));
  return marked.filter(({ content }) => content.length > 0);
}

type GetReasoning = (call: ToolCall, message: ModelMessage) => CallReasoning | undefined;

/** Looks up the reasoning of a call in the cache, else in the fields of its message. */
function createReasoningLookup({ conversation, preferences, model }: ModelRequest, reasoning: ReasoningCache | undefined): GetReasoning {
  if (reasoning === undefined) return noReasoning;
  return (call, message) =>
    conversation !== undefined && reasoning.has(conversation, call.callId)
      ? reasoning.get(conversation, call.callId, preferences?.contextEngine?.replayDriftIdleMs)
      : readReasoning(message, call, model.provider);
}

function noReasoning(): undefined {
  return undefined;
}

/** Returns the index of the first message whose reasoning is sent again. */
function findFirstWithReasoning({ messages, preferences }: ModelRequest): number {
  const textParts = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
  return textParts.at(-(preferences?.contextEngine?.thinkingKeepTurns ?? textParts.length)) ?? 0;
}

function withMark(message: Message, { api }: ModelProfile, cacheControl: { type: string; ttl?: string }): Message {
  return { ...message, providerOptions: { [api.optionsKey]: { cacheControl } } };
}

function renderMessage(message: ModelMessage, lookUp: GetReasoning): Message {
  if (message.role === 'user')
    return { role: 'user', content: [{ type: 'text', text: message.text }, ...(message.images ?? []).map(renderImage)] };
  if (message.role === 'tool') {
    const { callId, name, result, failed } = message;
    const value = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
    const output = { type: failed ? ('error-text' as const) : ('text' as const), value };
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId: sanitizeCallId(callId), toolName: name, output }] };
  }
  const { text, toolCalls = [] } = message;
  const cached = toolCalls.map((call) => lookUp(call, message));
  const reasoningParts = (cached[0]?.blocks ?? []).map((one): Part => ({
    type: 'reasoning',
    text: one.text,
    providerOptions: one.metadata,
  }));
  const textParts: Part[] = text === '' ? [] : [{ type: 'text', text }];
  return { role: 'assistant', content: [...reasoningParts, ...textParts, ...toolCalls.map((call, at) => renderCall(call, cached[at]))] };
}

/** Types of images by the extension of an address. Google requires a complete type. */
const IMAGE_TYPES = new Map([
  ['png', 'image/png'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
]);

function renderImage(address: string): Extract<Part, { type: 'file' }> {
  const [, dataType, base64] = /^data:((?:image|video)\/[\w.+-]+);base64,(.*)$/s.exec(address) ?? [];
  if (dataType !== undefined && base64 !== undefined) return { type: 'file', mediaType: dataType, data: { type: 'data', data: base64 } };
  const url = new URL(address);
  const mediaType = IMAGE_TYPES.get(url.pathname.split('.').at(-1)?.toLowerCase() ?? '') ?? 'image/jpeg';
  return { type: 'file', mediaType, data: { type: 'url', url } };
}

function renderCall({ callId, name, input }: ToolCall, cached: CallReasoning | undefined): Part {
  // Providers reject arguments that are not an object, so invalid text is wrapped.
  const argumentsObject = typeof input === 'object' && input !== null ? input : { unparsed: input };
  const signature = cached?.metadata === undefined ? {} : { providerOptions: cached.metadata };
  return { type: 'tool-call', toolCallId: sanitizeCallId(callId), toolName: name, input: argumentsObject, ...signature };
}

/** Replaces characters in call ids that another provider may have used and this one rejects. */
function sanitizeCallId(callId: string): string {
  return callId.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function renderTool({ name, description, parameters, strict }: ToolSpec): NonNullable<CallOptions['tools']>[number] {
  return { type: 'function', name, description, inputSchema: parameters, ...(strict === undefined ? {} : { strict }) };
}

function renderToolChoice(choice: ToolChoice): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}
