import { MAX, type CallerTool, type CallerTools } from '@switchyard/contracts';
import { z } from 'zod';
import { selectCallFields, selectMessageFields } from './provider-fields.ts';
import { LEFT_OUT } from '../left-out.ts';
import { LenientContent, LenientText } from '../lenient-content.ts';
import { callId, name, schema, text } from '../openai-fields.ts';
import { toFunctionArguments, toFunctionTool } from '../tool-conversion.ts';

const absent = z.never().optional();

const FunctionCall = z
  .looseObject({ id: callId, type: z.literal('function').optional(), function: z.object({ name, arguments: text }) })
  .transform((call) => {
    const providerFields = selectCallFields(call);
    const { name: toolName, arguments: args } = call.function;
    return { callId: call.id, name: toolName, arguments: args, ...(providerFields === undefined ? {} : { providerFields }) };
  });
const CustomCall = z
  .looseObject({ id: callId, type: z.literal('custom'), custom: z.object({ name, input: text }) })
  .transform(({ custom, ...call }) => {
    const providerFields = selectCallFields(call);
    const { name: toolName, input } = custom;
    return {
      callId: call.id,
      name: toolName,
      arguments: toFunctionArguments(input),
      ...(providerFields === undefined ? {} : { providerFields }),
    };
  });
const ToolCall = z.discriminatedUnion('type', [FunctionCall, CustomCall]);

const Message = z.discriminatedUnion('role', [
  z
    .object({ role: z.enum(['system', 'developer']), content: LenientText })
    .transform(({ content }) => ({ role: 'system' as const, content: content.text, omitted: content.omitted })),
  z
    .object({ role: z.literal('user'), content: LenientContent })
    .transform(({ role, content: { text: content, ...parts } }) => ({ role, content, ...parts })),
  z
    .looseObject({ role: z.literal('assistant'), content: LenientText.nullish(), tool_calls: z.array(ToolCall).max(MAX.many).nullish() })
    .transform((message) => {
      const { content, tool_calls: calls } = message;
      const providerFields = selectMessageFields(message);
      return {
        role: 'assistant' as const,
        content: content?.text ?? '',
        omitted: content?.omitted,
        ...(calls && calls.length > 0 ? { toolCalls: calls } : {}),
        ...(providerFields === undefined ? {} : { providerFields }),
      };
    }),
  z
    .object({ role: z.literal('tool'), content: LenientContent, tool_call_id: callId })
    .transform(({ content: { text: content, ...parts }, tool_call_id: id }) => ({ role: 'tool' as const, content, ...parts, callId: id })),
]);

const FunctionTool = z
  .object({
    type: z.literal('function'),
    function: z.object({ name, description: text.nullish(), parameters: schema.nullish(), strict: z.boolean().nullish() }),
  })
  .transform(({ function: { name: toolName, description, parameters, strict } }): OfferedTool => ({
    name: toolName,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  }));

/** A tool of the caller as a function, and whether the caller calls it a custom tool. */
type OfferedTool = CallerTool & { isCustom?: true };

const Tool = z.discriminatedUnion('type', [
  FunctionTool,
  z
    .object({ type: z.literal('custom'), custom: z.object({ name, description: text.nullish(), format: z.unknown().optional() }) })
    .transform(({ custom }): OfferedTool => ({ ...toFunctionTool(custom), isCustom: true })),
  z.object({ type: z.literal(LEFT_OUT) }).transform(() => undefined),
]);

const NamedTool = z.discriminatedUnion('type', [
  z.object({ type: z.literal('function'), function: z.object({ name }) }).transform((choice) => ({ name: choice.function.name })),
  z.object({ type: z.literal('custom'), custom: z.object({ name }) }).transform((choice) => ({ name: choice.custom.name })),
]);
const mode = z.enum(['auto', 'none', 'required']);

const ToolChoice = z.union([
  mode,
  NamedTool,
  z
    .object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({ mode: mode.default('auto'), tools: z.array(NamedTool).min(1).max(MAX.many) }),
    })
    .transform(({ allowed_tools: allowed }) => ({ mode: allowed.mode, allowed: allowed.tools.map((tool) => tool.name) })),
]);

const ResponseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }).transform(() => undefined),
  z.object({ type: z.literal('json_object') }).transform(() => ({})),
  z
    .object({ type: z.literal('json_schema'), json_schema: z.object({ name, schema: schema.nullish(), strict: z.boolean().nullish() }) })
    .transform(({ json_schema: jsonSchema }) => ({
      name: jsonSchema.name,
      ...(jsonSchema.schema == null ? {} : { schema: jsonSchema.schema }),
      ...(jsonSchema.strict == null ? {} : { strict: jsonSchema.strict }),
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
    const {
      tools,
      tool_choice: choice,
      parallel_tool_calls: parallel,
      max_completion_tokens: maxCompletionTokens,
      response_format: format,
    } = body;
    const offered = (tools ?? []).filter((tool) => tool !== undefined);
    const callerTools = tools && toCallerTools(offered, choice, parallel);
    const isValidChoice = callerTools ? isOfferedChoice(callerTools) : choice === undefined || choice === 'auto' || choice === 'none';
    if (!isValidChoice) {
      ctx.addIssue({ code: 'custom', path: ['tool_choice'], message: 'one of the tools', params: { received: 'another tool' } });
      return z.NEVER;
    }
    return {
      model: body.model,
      messages: body.messages,
      stream: body.stream,
      temperature: body.temperature,
      max_tokens: maxCompletionTokens ?? body.max_tokens,
      stream_options: body.stream_options,
      stop: [body.stop ?? []].flat().filter((sequence) => sequence !== ''),
      format,
      tools: callerTools,
      customTools: offered.filter(({ isCustom }) => isCustom).map((tool) => tool.name),
    };
  });

function isOfferedChoice({ offered, choice }: CallerTools): boolean {
  if (typeof choice === 'object') return offered.some((tool) => tool.name === choice.name);
  return choice !== 'required' || offered.length > 0;
}

function toCallerTools(
  tools: readonly OfferedTool[],
  choice: z.output<typeof ToolChoice> | undefined,
  parallel: boolean | undefined,
): CallerTools {
  const functions = tools.map(({ isCustom: _isCustom, ...tool }) => tool);
  const allowed = typeof choice === 'object' && 'allowed' in choice ? choice : undefined;
  const resolvedChoice = typeof choice === 'object' && 'allowed' in choice ? choice.mode : choice;
  return {
    offered: allowed ? functions.filter((tool) => allowed.allowed.includes(tool.name)) : functions,
    ...(resolvedChoice === undefined ? {} : { choice: resolvedChoice }),
    ...(parallel === undefined ? {} : { parallel }),
  };
}
