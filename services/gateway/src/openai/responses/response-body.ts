import { validate, type JsonFormat, type StatelessTurn } from '@switchyard/contracts';
import { RefusalError } from '../../request/refusal.ts';
import { repairMessages } from '../chat-completions/lenient-conversation.ts';
import { toConversation, type RequestMessage } from '../chat-completions/completion-messages.ts';
import { KNOWN_TYPES } from './known-types.ts';
import { toMessages, type InlineItem } from './response-items.ts';
import { LenientBody, StrictBody, type ResponseBody } from './response-schema.ts';
import { createToolsEcho, toCallerTools } from './response-tools.ts';
import { checkFieldCount, createInvalidBodyRefusal, LENIENT_TOKEN_HINT, createFieldError } from '../openai-body.ts';
import { markLeftOut } from '../left-out.ts';
import { removeNulls } from '../openai-fields.ts';

/** The part of a conversation that is not in earlier responses. */
export interface AddedConversation {
  system?: string;
  instructions?: string;
  /** Number of messages at the end of the conversation, without system messages. */
  messages: number;
}

/** A parsed `/v1/responses` request. */
export interface ResponseRequest {
  turn: Omit<StatelessTurn, 'turnId'>;
  /** The system messages of the whole conversation. */
  system: string | undefined;
  stream: boolean;
  store: boolean;
  background: boolean;
  /** Request fields that the response resource repeats. */
  echo: Record<string, unknown>;
  /** What the request adds to the conversation of earlier responses. */
  added: AddedConversation;
  /** The parts of the request that were left out. */
  warnings: readonly string[];
}

/** The body of a request, and what the client is told about the parts that were left out. */
export type ParsedResponseBody = ResponseBody & { lenient: boolean; warnings: string[] };

/** Parses the body. Throws a refusal that names the invalid field. */
export function parseResponseBody(body: unknown, lenient: boolean): ParsedResponseBody {
  checkFieldCount(body);
  const fields = removeNulls(body);
  const marked = markLeftOut(fields, KNOWN_TYPES);
  const parsed = lenient ? validate(LenientBody, marked.body) : validate(StrictBody, fields);
  if (!parsed.success) {
    const refusal = createInvalidBodyRefusal(parsed.error);
    const lenientAccepts = !lenient && validate(LenientBody, marked.body).success;
    throw new RefusalError(lenientAccepts ? { ...refusal, message: `${refusal.message}. ${LENIENT_TOKEN_HINT}` } : refusal);
  }
  const { background, store } = parsed.data;
  if (background && !store) throw createFieldError('background', 'expected false when store is false, got true');
  return { ...parsed.data, lenient, warnings: lenient ? marked.warnings : [] };
}

/** Builds the turn of a request from the messages of earlier responses and the resolved input items. */
export function toResponseRequest(
  body: ParsedResponseBody,
  previousMessages: readonly RequestMessage[],
  items: readonly InlineItem[],
): ResponseRequest {
  const { model, instructions, temperature, max_output_tokens: maxTokens, stream, store, background } = body;
  const messages = toMessages(items, model);
  const added = body.lenient ? repairMessages(messages, 'input', previousMessages) : { messages, warnings: [] };
  const conversation = toConversation([...previousMessages, ...added.messages], 'input');
  const { system, ...turnMessages } = conversation.turn;
  const tools = toCallerTools({ tools: body.tools, choice: body.tool_choice, parallel: body.parallel_tool_calls });
  if (tools === 'invalid-choice') throw createFieldError('tool_choice', 'expected one of the tools, got another tool');
  // A conversation with tool calls uses the tools of the caller, even if this request offers none.
  const turnTools = tools ?? (conversation.hasToolCalls ? { offered: [] } : undefined);
  const instructionTexts = [instructions, system].filter((entry) => entry !== undefined && entry !== '');
  const format = toJsonFormat(body.text?.format);
  return {
    turn: {
      model,
      ...turnMessages,
      ...(instructionTexts.length === 0 ? {} : { system: instructionTexts.join('\n') }),
      ...(turnTools === undefined ? {} : { tools: turnTools }),
      ...(format === undefined ? {} : { format }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    system,
    stream,
    store,
    background,
    echo: createResponseEcho(body),
    added: toAddedConversation(added.messages, instructions),
    warnings: [...body.warnings, ...added.warnings],
  };
}

function toAddedConversation(messages: readonly RequestMessage[], instructions: string | null | undefined): AddedConversation {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  return {
    ...(system.length === 0 ? {} : { system: system.join('\n') }),
    ...(instructions == null || instructions === '' ? {} : { instructions }),
    messages: messages.length - system.length,
  };
}

function toJsonFormat(format: NonNullable<ResponseBody['text']>['format']): JsonFormat | undefined {
  if (format == null || format.type === 'text') return undefined;
  if (format.type === 'json_object') return {};
  return { name: format.name, schema: format.schema, ...(format.strict == null ? {} : { strict: format.strict }) };
}

/** The request fields that a response resource repeats, with defaults for omitted fields. */
function createResponseEcho(body: ResponseBody): Record<string, unknown> {
  const { format } = body.text ?? {};
  return {
    model: body.model,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    tools: createToolsEcho(body.tools),
    tool_choice: body.tool_choice ?? 'auto',
    truncation: body.truncation,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    text: { format: format ?? { type: 'text' } },
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: body.temperature ?? 1,
    reasoning: null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    store: body.store,
    background: body.background,
    service_tier: 'default',
    metadata: body.metadata,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  };
}
