import { MAX } from '@switchyard/contracts';
import { z } from 'zod';
import { LenientContent, LenientParts, splitContent } from '../lenient-content.ts';
import { callId, name, text } from '../openai-fields.ts';
import { toFunctionArguments, toFunctionName } from '../tool-conversion.ts';
import { LEFT_OUT } from '../left-out.ts';
import { parseProviderState } from './provider-state.ts';
import { ItemReference, roles, withType, type ResponseItem } from './response-items.ts';

const ShellAction = z.looseObject({ command: z.array(text).max(MAX.many).optional() });

/** The results of calls of all kinds. A result of the shell has the id of its call under another name. */
const output = z
  .object({
    type: z.enum(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output']),
    call_id: callId.optional(),
    id: callId.nullish(),
    output: LenientContent,
  })
  .transform((item, ctx): ResponseItem => {
    const id = item.call_id ?? (item.type === 'local_shell_call_output' ? item.id : undefined);
    const { text: outputText, ...parts } = item.output;
    if (id != null) return { type: 'function_call_output', call_id: id, output: outputText, ...parts };
    ctx.addIssue({ code: 'custom', path: ['call_id'], message: 'string', params: { received: 'nothing' } });
    return z.NEVER;
  });

/** An item that a lenient client may send. Calls of all kinds are calls of the functions that the model knows. */
const Item = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message'), role: roles, content: LenientParts }).transform(({ content, ...message }): ResponseItem => {
    const { text: messageText, ...parts } = splitContent(content, message.role === 'user');
    return { ...message, content: messageText, ...parts };
  }),
  z
    .object({ type: z.literal('function_call'), call_id: callId, namespace: name.nullish(), name, arguments: text })
    .transform(({ namespace, name: toolName, ...call }): ResponseItem => ({ ...call, name: toFunctionName(namespace, toolName) })),
  z
    .object({ type: z.literal('custom_tool_call'), call_id: callId, namespace: name.nullish(), name, input: text })
    .transform(({ call_id, namespace, name: toolName, input }): ResponseItem => {
      return { type: 'function_call', call_id, name: toFunctionName(namespace, toolName), arguments: toFunctionArguments(input) };
    }),
  z
    .object({ type: z.literal('local_shell_call'), call_id: callId, action: ShellAction })
    .transform(({ call_id, action: { type: _type, ...args } }): ResponseItem => {
      return { type: 'function_call', call_id, name: 'local_shell', arguments: JSON.stringify(args) };
    }),
  output,
  z
    .object({ type: z.literal('reasoning'), encrypted_content: z.string().max(MAX.payload).nullish() })
    .transform(({ type, encrypted_content: encrypted }): ResponseItem => {
      return { type, state: encrypted == null ? undefined : parseProviderState(encrypted) };
    }),
  ItemReference,
  z.object({ type: z.literal(LEFT_OUT) }).transform((): ResponseItem => ({ type: 'reasoning' })),
]);

/** Input of a lenient request. */
export const LenientInput = z.union([
  text.transform((value): ResponseItem[] => [{ type: 'message', role: 'user', content: value }]),
  z
    .array(z.preprocess(withType, Item))
    .min(1)
    .max(MAX.messages)
    .transform((items): ResponseItem[] => items),
]);
