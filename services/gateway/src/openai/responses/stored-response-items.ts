import type { TurnMessage } from '@switchyard/contracts';
import type { InlineItem } from './response-items.ts';
import type { StoredResponse } from './stored-response.ts';
import { getProviderState } from './provider-state.ts';
import { listCallItems, toMessageId, toOutcome, toReasoningId, getIdSuffix, createTextPart, parseResponseId } from './response-resource.ts';

/** A stored item and its id, which a later request may refer to. */
export interface StoredItem {
  id: string;
  item: InlineItem;
}

const PREFIX = { message: 'msg', function_call: 'fc', function_call_output: 'fco', reasoning: 'rs' } as const;
const ID = /^(?:msg|fc|fco|ctc|lsh|rs)_([0-9A-Za-z]{22})(_in\d{1,6}|_\d{1,4})?$/;

/** Parses an item id into its response and side; undefined for other ids. */
export function parseItemId(id: string): { turnId: string; side: 'input' | 'output' } | undefined {
  const [, suffix = '', place = ''] = ID.exec(id) ?? [];
  const turnId = parseResponseId(`resp_${suffix}`);
  return turnId === undefined ? undefined : { turnId, side: place.startsWith('_in') ? 'input' : 'output' };
}

/**
 * Lists the input items of a response in order, including a copy of those of earlier responses. The id of an item consists of the response
 * and its position. All instructions are one item.
 */
export function listInputItems({ turnId, talk }: Pick<StoredResponse, 'turnId' | 'talk'>): StoredItem[] {
  if (!talk) return [];
  const { system, history = [], message, since = [] } = talk;
  const items: InlineItem[] = [
    ...(system === undefined ? [] : [{ type: 'message' as const, role: 'system' as const, content: system }]),
    ...history.flatMap(toItems),
    { type: 'message', role: 'user', content: message },
    ...since.flatMap(toItems),
  ];
  return items.map((item, index) => {
    return { id: `${PREFIX[item.type]}_${getIdSuffix(turnId)}_in${index}`, item };
  });
}

function toItems(message: TurnMessage): InlineItem[] {
  const { role, text } = message;
  if (role === 'tool') return [{ type: 'function_call_output', call_id: message.callId, output: text }];
  if (role === 'user') return [{ type: 'message', role, content: text }];
  const calls = (message.toolCalls ?? []).map(toCallItem);
  return text === '' && calls.length > 0 ? calls : [{ type: 'message', role, content: text }, ...calls];
}

/** Lists the output items of a completed response, with the ids of its resource and the state that its provider expects back. */
export function listOutputItems(response: StoredResponse): StoredItem[] {
  if (!response.result) return [];
  const { turnId } = response;
  const outcome = toOutcome(response);
  const { text, calls = [] } = outcome;
  const state = getProviderState(response, outcome);
  const ids = listCallItems(response, calls).map(({ id }) => id);
  const callItems = calls.map((call, index): StoredItem => ({ id: ids[index] ?? '', item: { ...toCallItem(call), state } }));
  const reasoning: StoredItem[] = state === undefined ? [] : [{ id: toReasoningId(turnId), item: { type: 'reasoning', state } }];
  if (text === '' && calls.length > 0) return [...reasoning, ...callItems];
  return [{ id: toMessageId(turnId), item: { type: 'message', role: 'assistant', content: text, state } }, ...reasoning, ...callItems];
}

function toCallItem({ callId: call_id, name, arguments: args }: { callId: string; name: string; arguments: string }): InlineItem {
  return { type: 'function_call', call_id, name, arguments: args };
}

/** Renders an item for a list. */
export function renderItem({ id, item }: StoredItem): object {
  if (item.type !== 'message') return { ...item, id, status: 'completed' };
  const { role, content } = item;
  return {
    type: 'message',
    id,
    status: 'completed',
    role,
    content: [role === 'assistant' ? createTextPart(content) : createInputPart(content)],
  };
}

function createInputPart(text: string): object {
  return { type: 'input_text', text };
}
