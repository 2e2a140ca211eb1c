import type { TurnMessage } from '@switchyard/contracts';
import type { SaidItem } from './response-items.ts';
import type { KeptResponse } from './stored-response.ts';
import { callId, messageId, outcomeOf, suffixOf, textPart, turnOf } from './response-resource.ts';

/** An item of a response that is stored, under the id by which a later request refers to it. */
export interface KeptItem {
  id: string;
  item: SaidItem;
}

const PREFIX = { message: 'msg', function_call: 'fc', function_call_output: 'fco', reasoning: 'rs' } as const;
const ID = /^(?:msg|fc|fco)_([0-9A-Za-z]{22})(_in\d{1,6}|_\d{1,4})?$/;

/** Parses an item id into its response and side; undefined for other ids. */
export function whereIs(id: string): { turnId: string; side: 'input' | 'output' } | undefined {
  const [, suffix = '', place = ''] = ID.exec(id) ?? [];
  const turnId = turnOf(`resp_${suffix}`);
  return turnId === undefined ? undefined : { turnId, side: place.startsWith('_in') ? 'input' : 'output' };
}

/**
 * Lists the input items of a response in order, including those of earlier responses, of which it has a copy. The id of an item
 * consists of the response and its position. Several instructions are one item.
 */
export function inputItems({ turnId, talk }: Pick<KeptResponse, 'turnId' | 'talk'>): KeptItem[] {
  if (!talk) return [];
  const { system, history = [], message, since = [] } = talk;
  const items: SaidItem[] = [
    ...(system === undefined ? [] : [{ type: 'message' as const, role: 'system' as const, content: system }]),
    ...history.flatMap(itemsOf),
    { type: 'message', role: 'user', content: message },
    ...since.flatMap(itemsOf),
  ];
  return items.map((item, at) => {
    return { id: `${PREFIX[item.type]}_${suffixOf(turnId)}_in${at}`, item };
  });
}

function itemsOf(message: TurnMessage): SaidItem[] {
  const { role, text } = message;
  if (role === 'tool') return [{ type: 'function_call_output', call_id: message.callId, output: text }];
  if (role === 'user') return [{ type: 'message', role, content: text }];
  const calls = (message.toolCalls ?? []).map(asCall);
  return text === '' && calls.length > 0 ? calls : [{ type: 'message', role, content: text }, ...calls];
}

/** Lists the output items of a completed response, with the ids of its resource. */
export function outputItems(kept: KeptResponse): KeptItem[] {
  if (!kept.result) return [];
  const { turnId } = kept;
  const { text, calls = [] } = outcomeOf(kept);
  const called = calls.map((call, at): KeptItem => {
    return { id: callId(turnId, at), item: asCall(call) };
  });
  if (text === '' && calls.length > 0) return called;
  return [{ id: messageId(turnId), item: { type: 'message', role: 'assistant', content: text } }, ...called];
}

function asCall({ callId: call_id, name, arguments: written }: { callId: string; name: string; arguments: string }): SaidItem {
  return { type: 'function_call', call_id, name, arguments: written };
}

/** An item as a list of them shows it. */
export function shownItem({ id, item }: KeptItem): object {
  if (item.type !== 'message') return { ...item, id, status: 'completed' };
  const { role, content } = item;
  return { type: 'message', id, status: 'completed', role, content: [role === 'assistant' ? textPart(content) : inputPart(content)] };
}

function inputPart(text: string): object {
  return { type: 'input_text', text };
}
