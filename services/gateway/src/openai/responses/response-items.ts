import { MAX, type CallerToolCall, type TurnMessage } from '@switchyard/contracts';
import { z } from 'zod';
import type { RequestMessage } from '../chat-completions/completion-messages.ts';
import type { OmittedPart } from '../lenient-content.ts';
import { callId, isRecord, name, text } from '../openai-fields.ts';
import type { ProviderState } from './provider-state.ts';

const OTHER_PARTS = new Set(['input_image', 'input_file', 'input_audio', 'input_video']);

/** A content part. Parts other than text are rejected, because dropping them would change the request without notice. */
const TextPart = z.object({ type: z.string().max(MAX.name), text: text.optional(), refusal: text.optional() }).transform((part, ctx) => {
  const partText =
    part.type === 'refusal' ? part.refusal : ['input_text', 'output_text', 'text'].includes(part.type) ? part.text : undefined;
  if (partText !== undefined) return partText;
  const received = OTHER_PARTS.has(part.type) ? `a part of type ${part.type}` : 'another part';
  ctx.addIssue({ code: 'custom', message: 'a text part', params: { received } });
  return z.NEVER;
});
const content = z
  .union([text, z.array(TextPart).max(MAX.many)])
  .transform((value) => (typeof value === 'string' ? value : value.join('\n')));

export const ItemReference = z.object({ type: z.literal('item_reference'), id: z.string().min(1).max(MAX.id) });
export const roles = z.enum(['user', 'assistant', 'system', 'developer']);

/** An item of an input. Output fields that clients repeat (ids, statuses, annotations) are ignored. */
const Item = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message'), role: roles, content }),
  z.object({ type: z.literal('function_call'), call_id: callId, name, arguments: text }),
  z.object({ type: z.literal('function_call_output'), call_id: callId, output: content }),
  z.object({ type: z.literal('reasoning') }),
  ItemReference,
]);
export type ResponseItem = z.output<typeof Item> & {
  omitted?: readonly OmittedPart[] | undefined;
  images?: readonly string[] | undefined;
  /** Of a reasoning item, and of a stored item of an earlier response. */
  state?: ProviderState | undefined;
};
/** An item with content, in contrast to a reference. */
export type InlineItem = Exclude<ResponseItem, { type: 'item_reference' }>;

const TypedItem = z.preprocess(withType, Item);

type FunctionCallItem = Extract<InlineItem, { type: 'function_call' }>;

/** Adds the type to messages and references that omit it. */
export function withType(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || ('type' in item && item.type != null)) return item;
  return { ...item, type: 'id' in item && !('role' in item) ? 'item_reference' : 'message' };
}

/** Input of a request. A plain text is a user message. */
export const ResponseInput = z.union([
  text.min(1).transform((content): ResponseItem[] => [{ type: 'message', role: 'user', content }]),
  z.array(TypedItem).min(1).max(MAX.messages),
]);

/**
 * Converts items to messages. Consecutive tool calls, and calls after an assistant message, belong to one message, which receives the
 * state of a reasoning item next to it if the model is the same.
 */
export function toMessages(items: readonly InlineItem[], model: string): RequestMessage[] {
  const messages: RequestMessage[] = [];
  const callFields = new Map<string, unknown>();
  let pending: Record<string, unknown> | undefined;
  const getAssistant = () => {
    const last = messages.at(-1);
    return last?.role === 'assistant' ? last : undefined;
  };
  const readState = ({ type, state }: InlineItem): void => {
    if (state?.model !== model) return;
    for (const [id, fields] of Object.entries(state.calls)) callFields.set(id, fields);
    const last = type !== 'message' && state.hasText ? getAssistant() : undefined;
    if (last) last.providerFields = state.fields;
    else pending = state.fields;
  };
  for (const item of items) {
    readState(item);
    if (item.type === 'reasoning') continue;
    const providerFields = pending;
    pending = undefined;
    if (item.type === 'message') {
      const { content, omitted, images } = item;
      const role = item.role === 'developer' ? 'system' : item.role;
      if (role === 'assistant') messages.push({ role, content, omitted, providerFields });
      else if (role === 'user') messages.push({ role, content, omitted, ...(images && { images }) });
      else messages.push({ role, content, omitted });
    } else if (item.type === 'function_call') {
      const call = toToolCall(item, callFields.get(item.call_id));
      const last = getAssistant();
      if (last) {
        last.toolCalls = [...(last.toolCalls ?? []), call];
        last.providerFields ??= providerFields;
      } else messages.push({ role: 'assistant', content: '', toolCalls: [call], providerFields });
    } else {
      const { output, call_id: id, omitted, images } = item;
      messages.push({ role: 'tool', content: output, callId: id, omitted, ...(images && { images }) });
    }
  }
  return messages;
}

function toToolCall({ call_id, name: toolName, arguments: args }: FunctionCallItem, fields: unknown): CallerToolCall {
  const call = { callId: call_id, name: toolName, arguments: args };
  return isRecord(fields) ? { ...call, providerFields: fields } : call;
}

/** Converts a message of a stored conversation. */
export function toRequestMessage(message: TurnMessage): RequestMessage {
  if (message.role === 'tool') return { role: 'tool', content: message.text, callId: message.callId, images: message.images };
  if (message.role === 'user') return { role: 'user', content: message.text, images: message.images };
  return { role: 'assistant', content: message.text, toolCalls: message.toolCalls, providerFields: message.providerFields };
}
