import { MAX, type CallerTools } from '@switchyard/contracts';
import { z } from 'zod';
import { callId, name, schema, text } from '../openai-fields.ts';

const absent = z.never().optional();

const PARTS = new Set(['image_url', 'input_audio', 'file', 'refusal', 'text']);

/** A content part. Parts other than text are rejected, because they would be missing from the answer without notice. */
const TextPart = z.object({ type: z.string().max(MAX.name), text: text.optional() }).transform((part, ctx) => {
  if (part.type === 'text' && part.text !== undefined) return part.text;
  const received = PARTS.has(part.type) ? `a part of type ${part.type}` : 'another part';
  ctx.addIssue({ code: 'custom', message: 'a text part', params: { received } });
  return z.NEVER;
});

const content = z.union([text, z.array(TextPart).max(MAX.many)]).transform((said) => (typeof said === 'string' ? said : said.join('\n')));

const ToolCall = z
  .object({ id: callId, type: z.literal('function').optional(), function: z.object({ name, arguments: text }) })
  .transform(({ id, function: called }) => ({ callId: id, name: called.name, arguments: called.arguments }));

const Message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content }).transform((said) => ({ role: 'system' as const, content: said.content })),
  z.object({ role: z.literal('user'), content }),
  z
    .object({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(ToolCall).max(MAX.many).nullish() })
    .transform(({ content: said, tool_calls: calls }) => ({
      role: 'assistant' as const,
      content: said ?? '',
      ...(calls && calls.length > 0 ? { toolCalls: calls } : {}),
    })),
  z
    .object({ role: z.literal('tool'), content, tool_call_id: callId })
    .transform((said) => ({ role: 'tool' as const, content: said.content, callId: said.tool_call_id })),
]);

const Tool = z
  .object({
    type: z.literal('function'),
    function: z.object({ name, description: text.nullish(), parameters: schema.nullish(), strict: z.boolean().nullish() }),
  })
  .transform(({ function: { name: called, description, parameters, strict } }) => ({
    name: called,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  }));

const ToolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: z.object({ name }) }).transform((chosen) => ({ name: chosen.function.name })),
]);

const ResponseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }).transform(() => undefined),
  z.object({ type: z.literal('json_object') }).transform(() => ({})),
  z
    .object({ type: z.literal('json_schema'), json_schema: z.object({ name, schema: schema.nullish(), strict: z.boolean().nullish() }) })
    .transform(({ json_schema: asked }) => ({
      name: asked.name,
      ...(asked.schema == null ? {} : { schema: asked.schema }),
      ...(asked.strict == null ? {} : { strict: asked.strict }),
    })),
]);

const stopText = z.string().max(MAX.name);
const tokens = z.int().positive().optional();

/**
 * The fields that a lenient token may send. Unknown fields are ignored; fields that change the meaning of the answer and cannot be
 * honoured are listed here and rejected.
 */
export const LenientBody = z
  .object({
    model: name,
    messages: z.array(Message).min(1).max(MAX.messages),
    stream: z.boolean().optional(),
    temperature: z.number().min(0).max(2).optional(),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
    stop: z.union([stopText, z.array(stopText).max(MAX.few)]).optional(),
    response_format: ResponseFormat.optional(),
    tools: z.array(Tool).max(MAX.many).optional(),
    tool_choice: ToolChoice.optional(),
    parallel_tool_calls: z.boolean().optional(),
    n: z.literal(1).optional(),
    logprobs: z.literal(false).optional(),
    modalities: z.array(z.literal('text')).max(MAX.few).optional(),
    functions: absent,
    web_search_options: absent,
  })
  .transform((body, ctx) => {
    const { tools, tool_choice: choice, parallel_tool_calls: parallel, max_completion_tokens: most, response_format: format } = body;
    if (!isAmong(choice, tools)) {
      ctx.addIssue({ code: 'custom', path: ['tool_choice'], message: 'one of the tools', params: { received: 'none of them' } });
      return z.NEVER;
    }
    return {
      model: body.model,
      messages: body.messages,
      stream: body.stream,
      temperature: body.temperature,
      max_tokens: most ?? body.max_tokens,
      stream_options: body.stream_options,
      stop: [body.stop ?? []].flat().filter((one) => one !== ''),
      format,
      tools: tools && callersTools(tools, choice, parallel),
    };
  });

function isAmong(choice: CallerTools['choice'], tools: CallerTools['offered'] = []): boolean {
  if (typeof choice === 'object') return tools.some(({ name: offered }) => offered === choice.name);
  return choice !== 'required' || tools.length > 0;
}

function callersTools(offered: CallerTools['offered'], choice: CallerTools['choice'], parallel: CallerTools['parallel']): CallerTools {
  return { offered, ...(choice === undefined ? {} : { choice }), ...(parallel === undefined ? {} : { parallel }) };
}
