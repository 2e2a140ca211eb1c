import { MAX, validate, type CallerTools, type JsonFormat, type StatelessTurn } from '@switchyard/contracts';
import { z } from 'zod';
import { RefusalError } from '../../request/refusal.ts';
import { checkFieldCount, createInvalidBodyRefusal, LENIENT_TOKEN_HINT } from '../openai-body.ts';
import { markLeftOut, type KnownTypes } from '../left-out.ts';
import { removeNulls } from '../openai-fields.ts';
import { LenientBody } from './lenient-completion.ts';
import { repairMessages } from './lenient-conversation.ts';
import { toConversation, type RequestMessage } from './completion-messages.ts';

/** The fields that every token may send. */
export const CompletionBody = z.strictObject({
  model: z.string().min(1).max(MAX.name),
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string().max(MAX.text) }))
    .min(1)
    .max(MAX.messages),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().positive().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean().optional() }).optional(),
});

/** The parsed body of a strict or a lenient token. */
interface ParsedBody {
  model: string;
  messages: RequestMessage[];
  stream?: boolean | undefined;
  temperature?: number | undefined;
  max_tokens?: number | undefined;
  stream_options?: { include_usage?: boolean | undefined } | undefined;
  stop?: string[] | undefined;
  tools?: CallerTools | undefined;
  format?: JsonFormat | undefined;
  customTools?: string[] | undefined;
}

/** A parsed `/v1/chat/completions` request. */
export interface CompletionRequest {
  turn: Omit<StatelessTurn, 'turnId'>;
  stream: boolean;
  includeUsage: boolean;
  /** Names of the tools that the caller calls custom tools. The model knows them as functions. */
  customTools?: readonly string[];
  /** The parts of the request that were left out. */
  warnings?: readonly string[];
}

/** The types of tools that a lenient request may have. */
const KNOWN_TYPES: KnownTypes = { tools: new Set(['function', 'custom']) };

/**
 * Parses the body; throws a ServiceError that names the invalid field. All system messages together become the instructions, and the
 * last user message becomes the message of the turn. Lenient tokens ignore unsupported fields; for other tokens the error mentions the
 * lenient token if it would accept the request.
 */
export function parseCompletionBody(body: unknown, lenient: boolean): CompletionRequest {
  checkFieldCount(body);
  if (lenient) return parseLenient(body);
  const parsed = validate(CompletionBody, body);
  if (parsed.success) return toRequest(parsed.data);
  const refusal = createInvalidBodyRefusal(parsed.error);
  throw isValidForLenientToken(body)
    ? new RefusalError({ ...refusal, message: `${refusal.message}. ${LENIENT_TOKEN_HINT}` })
    : new RefusalError(refusal);
}

function parseLenient(body: unknown): CompletionRequest {
  const { body: markedBody, warnings } = markLeftOut(removeNulls(body), KNOWN_TYPES);
  const parsed = validate(LenientBody, markedBody);
  if (!parsed.success) throw new RefusalError(createInvalidBodyRefusal(parsed.error));
  const repaired = repairMessages(parsed.data.messages, 'messages');
  const allWarnings = [...warnings, ...repaired.warnings];
  return {
    ...toRequest({ ...parsed.data, messages: repaired.messages }),
    ...(allWarnings.length === 0 ? {} : { warnings: allWarnings }),
  };
}

function isValidForLenientToken(body: unknown): boolean {
  try {
    parseLenient(body);
    return true;
  } catch (error) {
    if (error instanceof RefusalError) return false;
    throw error;
  }
}

function toRequest(body: ParsedBody): CompletionRequest {
  const {
    model,
    messages,
    stream = false,
    temperature,
    max_tokens: maxTokens,
    stream_options: streamOptions,
    stop = [],
    format,
    customTools = [],
  } = body;
  const conversation = toConversation(messages);
  // A conversation with tool calls uses the tools of the caller, even if this request offers none.
  const tools = body.tools ?? (conversation.hasToolCalls ? { offered: [] } : undefined);
  return {
    turn: {
      model,
      ...conversation.turn,
      ...(tools === undefined ? {} : { tools }),
      ...(stop.length === 0 ? {} : { stop }),
      ...(format === undefined ? {} : { format }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    stream,
    includeUsage: streamOptions?.include_usage ?? false,
    ...(customTools.length === 0 ? {} : { customTools }),
  };
}
