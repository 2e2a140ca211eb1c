import { describeIssues, MAX, validate } from '@switchyard/contracts';
import { z } from 'zod';
import { RefusalError } from '../server/refusal.ts';

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

/** What a `/v1/chat/completions` request asks for, in our words. */
export interface CompletionRequest {
  turn: { model: string; message: string; system?: string; temperature?: number; maxTokens?: number };
  stream: boolean;
  includeUsage: boolean;
}

/**
 * Reads the body (document 2); throws the refusal of one that is wrong, naming what is. All system messages together are the
 * instructions, the last user message is what is asked; earlier messages are not read, since a request is one turn.
 */
export function completionBody(body: unknown): CompletionRequest {
  const parsed = validate(CompletionBody, body);
  if (!parsed.success) throw invalid(parsed.error);
  const { model, messages, stream = false, temperature, max_tokens: maxTokens, stream_options: streamOptions } = parsed.data;
  const message = messages.findLast(({ role }) => role === 'user')?.content;
  if (message === undefined) throw refused('No user message found in messages array', 'messages');
  if (message === '') throw refused('Invalid request: messages: expected a user message that is not empty', 'messages');
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  return {
    turn: {
      model,
      message,
      ...(system.length === 0 ? {} : { system: system.join('\n') }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    stream,
    includeUsage: streamOptions?.include_usage ?? false,
  };
}

function invalid(error: z.ZodError): RefusalError {
  const [first] = error.issues;
  const wholeBody = first?.path.length === 0 && first.code !== 'unrecognized_keys';
  if (wholeBody) return refused('Invalid request: body: expected object');
  const issues = describeIssues(error);
  return refused(`Invalid request: ${issues.map(({ message }) => message).join('; ')}`, issues[0]?.path.split('.')[0]);
}

function refused(message: string, param?: string): RefusalError {
  return new RefusalError({ status: 400, message, code: 'INVALID_ARGUMENT', ...(param === undefined ? {} : { param }) });
}
