import { MAX, validate, type CallerTools, type JsonFormat, type StatelessTurn } from '@switchyard/contracts';
import { z } from 'zod';
import { RefusalError } from '../../request/refusal.ts';
import { fewFields, invalidBody, LENIENT_HOW_TO } from '../openai-body.ts';
import { withoutNulls } from '../openai-fields.ts';
import { LenientBody } from './lenient-completion.ts';
import { conversation, type Said } from './completion-messages.ts';

/** The fields that every token may send: those of the interface. */
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

/** A body of either kind, read. */
interface Body {
  model: string;
  messages: Said[];
  stream?: boolean | undefined;
  temperature?: number | undefined;
  max_tokens?: number | undefined;
  stream_options?: { include_usage?: boolean | undefined } | undefined;
  stop?: string[] | undefined;
  tools?: CallerTools | undefined;
  format?: JsonFormat | undefined;
}

/** A parsed `/v1/chat/completions` request. */
export interface CompletionRequest {
  turn: Omit<StatelessTurn, 'turnId'>;
  stream: boolean;
  includeUsage: boolean;
}

/**
 * Parses the body; throws a ServiceError that names the invalid field. All system messages together become the instructions, and the
 * last user message becomes the message of the turn. Lenient tokens ignore unsupported fields; for other tokens the error mentions the
 * lenient token if it would accept the request.
 */
export function completionBody(body: unknown, lenient: boolean): CompletionRequest {
  fewFields(body);
  if (lenient) return readLenient(body);
  const parsed = validate(CompletionBody, body);
  if (parsed.success) return toRequest(parsed.data);
  const refusal = invalidBody(parsed.error);
  throw takenLeniently(body)
    ? new RefusalError({ ...refusal, message: `${refusal.message}. ${LENIENT_HOW_TO}` })
    : new RefusalError(refusal);
}

function readLenient(body: unknown): CompletionRequest {
  const parsed = validate(LenientBody, withoutNulls(body));
  if (!parsed.success) throw new RefusalError(invalidBody(parsed.error));
  return toRequest(parsed.data);
}

function takenLeniently(body: unknown): boolean {
  try {
    readLenient(body);
    return true;
  } catch (error) {
    if (error instanceof RefusalError) return false;
    throw error;
  }
}

function toRequest(body: Body): CompletionRequest {
  const { model, messages, stream = false, temperature, max_tokens: maxTokens, stream_options: streamOptions, stop = [], format } = body;
  const said = conversation(messages);
  // Calls that the caller made are of tools of its own, even where it offers none any more.
  const tools = body.tools ?? (said.called ? { offered: [] } : undefined);
  return {
    turn: {
      model,
      ...said.turn,
      ...(tools === undefined ? {} : { tools }),
      ...(stop.length === 0 ? {} : { stop }),
      ...(format === undefined ? {} : { format }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    stream,
    includeUsage: streamOptions?.include_usage ?? false,
  };
}
