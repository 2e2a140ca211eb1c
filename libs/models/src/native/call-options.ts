import type { Attempt } from '../model/adapter.ts';
import { marksOf } from '../chat/cache-marks.ts';
import type { ModelMessage, ModelRequest, ToolCall, ToolChoice, ToolSpec } from '../model/model.ts';
import type { Thoughts, WithCall } from './reasoning-cache.ts';
import type { CallOptions, Wire } from './native-apis.ts';

type Message = CallOptions['prompt'][number];
type Part = Extract<Message, { role: 'assistant' }>['content'][number];

/** How one model wants to be spoken to over a wire of its own. */
export interface Manner {
  wire: Wire;
  /** What is kept of its thoughts; absent where they are never shown to it again. */
  thoughts: Thoughts | undefined;
  /** It may be offered tools. */
  tools: boolean;
  /** The search of the upstream stands beside them. */
  search: boolean;
  /** How long an answer may be where nobody says. */
  maxTokens: number | undefined;
}

/** A request in the words of the libraries. */
export function callOptions({ request, signal }: Pick<Attempt, 'request' | 'signal'>, manner: Manner): CallOptions {
  const { temperature, maxTokens = manner.maxTokens, stop, format, toolChoice } = request;
  const tools = manner.tools ? (request.tools ?? NONE) : NONE;
  return {
    prompt: promptOf(request, manner),
    abortSignal: signal,
    providerOptions: manner.wire.always,
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
    ...(format === undefined ? {} : { responseFormat: { type: 'json', schema: format.schema, name: format.name ?? 'response' } }),
    ...(tools.length === 0 ? {} : { tools: [...tools.map(toolOf), ...(manner.search ? [manner.wire.search] : [])] }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { toolChoice: choiceOf(toolChoice) }),
    reasoning: reasoningOf(request, manner),
  };
}

const NONE: readonly ToolSpec[] = [];

/** Between a call and its result a wire may want to see the thoughts that led to it, or none be thought. The same where a call is ordered. */
function reasoningOf(request: ModelRequest, { wire, thoughts }: Manner): NonNullable<CallOptions['reasoning']> {
  const { wishes, messages, toolChoice } = request;
  const level = wishes?.thinkingLevel;
  if (level === undefined) return 'provider-default';
  if (level === 'off') return 'none';
  if (!wire.thoughtsWithCalls) return level;
  const ordered = toolChoice === 'required' || typeof toolChoice === 'object';
  const calls = messages.at(-1)?.role === 'tool' ? lastCalls(messages) : [];
  const kept = heard(request, thoughts);
  const forgotten = calls.some(({ callId }) => (kept(callId)?.thoughts.length ?? 0) === 0);
  return ordered || forgotten ? 'none' : level;
}

function lastCalls(messages: readonly ModelMessage[]): readonly ToolCall[] {
  const last = messages.findLast((message) => message.role === 'assistant');
  return last?.role === 'assistant' ? (last.toolCalls ?? []) : [];
}

function promptOf(request: ModelRequest, manner: Manner): CallOptions['prompt'] {
  const { system, messages } = request;
  const first = firstWithThoughts(request);
  const kept = heard(request, manner.thoughts);
  const said = messages.map((message, at) => messageOf(message, at < first ? nothing : kept));
  const all: Message[] = system === undefined ? said : [{ role: 'system', content: system }, ...said];
  const marks = manner.wire.marks ? marksOf(all, request) : undefined;
  const marked = marks === undefined ? all : all.map((message, at) => (marks.at.has(at) ? withMark(message, manner, marks.mark) : message));
  return marked.filter(({ content }) => content.length > 0);
}

type Heard = (callId: string) => WithCall | undefined;

function heard({ conversation, wishes }: ModelRequest, thoughts: Thoughts | undefined): Heard {
  if (conversation === undefined || thoughts === undefined) return nothing;
  return (callId) => thoughts.of(conversation, callId, wishes?.contextEngine?.replayDriftIdleMs);
}

function nothing(): undefined {
  return undefined;
}

/** Of what was thought long ago nothing is shown again: from this message on it is. */
function firstWithThoughts({ messages, wishes }: ModelRequest): number {
  const spoken = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []));
  return spoken.at(-(wishes?.contextEngine?.thinkingKeepTurns ?? spoken.length)) ?? 0;
}

function withMark(message: Message, { wire }: Manner, cacheControl: { type: string; ttl?: string }): Message {
  return { ...message, providerOptions: { [wire.options]: { cacheControl } } };
}

function messageOf(message: ModelMessage, heardWith: Heard): Message {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.text }] };
  if (message.role === 'tool') {
    const { callId, name, result, failed } = message;
    const value = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
    const output = { type: failed ? ('error-text' as const) : ('text' as const), value };
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId: idOf(callId), toolName: name, output }] };
  }
  const { text, toolCalls = [] } = message;
  const kept = toolCalls.map(({ callId }) => heardWith(callId));
  const thought = (kept[0]?.thoughts ?? []).map((one): Part => ({
    type: 'reasoning',
    text: one.text,
    providerOptions: one.metadata,
  }));
  const spoken: Part[] = text === '' ? [] : [{ type: 'text', text }];
  return { role: 'assistant', content: [...thought, ...spoken, ...toolCalls.map((call, at) => callOf(call, kept[at]))] };
}

function callOf({ callId, name, input }: ToolCall, kept: WithCall | undefined): Part {
  // Upstreams refuse a history whose arguments are not an object, so text that was none is shown to the model as text.
  const shown = typeof input === 'object' && input !== null ? input : { unparsed: input };
  const signed = kept?.metadata === undefined ? {} : { providerOptions: kept.metadata };
  return { type: 'tool-call', toolCallId: idOf(callId), toolName: name, input: shown, ...signed };
}

/** A conversation may go on with another provider than it began with, whose ids have other characters. */
function idOf(callId: string): string {
  return callId.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function toolOf({ name, description, parameters, strict }: ToolSpec): NonNullable<CallOptions['tools']>[number] {
  return { type: 'function', name, description, inputSchema: parameters, ...(strict === undefined ? {} : { strict }) };
}

function choiceOf(choice: ToolChoice): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}
