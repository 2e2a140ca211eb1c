import { MAX } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { RefusalError } from '../../request/refusal.ts';
import type { ResponseItem, SaidItem } from './response-items.ts';
import { keptOf } from './stored-response.ts';
import { inputItems, outputItems, whereIs, type KeptItem } from './stored-response-items.ts';
import { responseId } from './response-resource.ts';
import { refusedField } from '../openai-body.ts';

/** How many responses one request may refer to, and how many are read at once. */
const MAX_RESPONSES = 256;
const AT_ONCE = 8;

/**
 * Replaces each reference in the items by the stored item. Only items of the caller can be referenced; other references are rejected
 * before a turn starts.
 */
export async function withReferences(edge: Edge, request: FastifyRequest, items: readonly ResponseItem[]): Promise<SaidItem[]> {
  const named = items.filter(({ type }) => type === 'item_reference').map((item) => ('id' in item ? item.id : ''));
  if (named.length === 0) return items.filter((item) => item.type !== 'item_reference');
  const found = await readAll(edge, request, responsesOf(named));
  let length = 0;
  return items.map((item) => {
    if (item.type !== 'item_reference') return item;
    const there = found.get(item.id);
    if (there === undefined) throw refusedField('input', NO_SUCH_ITEM);
    // One that is named many times would make a small request a large one.
    length += lengthOf(there);
    if (length > MAX.payload) throw refusedField('input', `expected references to at most ${MAX.payload} characters, got more`);
    return there;
  });
}

const NO_SUCH_ITEM = 'expected references to items that are stored, got another id';

/** The responses that have to be read, and whether with all that they were made from. */
function responsesOf(ids: readonly string[]): [turnId: string, talk: boolean][] {
  const needed = new Map<string, boolean>();
  for (const id of ids) {
    const where = whereIs(id);
    if (where === undefined) throw refusedField('input', NO_SUCH_ITEM);
    needed.set(where.turnId, needed.get(where.turnId) === true || where.side === 'input');
  }
  if (needed.size > MAX_RESPONSES) throw refusedField('input', `expected references to at most ${MAX_RESPONSES} responses, got more`);
  return [...needed];
}

async function readAll(edge: Edge, request: FastifyRequest, needed: [turnId: string, talk: boolean][]): Promise<Map<string, SaidItem>> {
  const found = new Map<string, SaidItem>();
  const read = async (): Promise<void> => {
    for (let next = needed.pop(); next; next = needed.pop())
      for (const { id, item } of await itemsOf(edge, request, next)) found.set(id, item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  return found;
}

async function itemsOf(edge: Edge, request: FastifyRequest, [turnId, talk]: [turnId: string, talk: boolean]): Promise<KeptItem[]> {
  try {
    const kept = await keptOf(edge, request, responseId(turnId), talk);
    return [...inputItems(kept), ...outputItems(kept)];
  } catch (error) {
    throw error instanceof RefusalError && error.refusal.status === 404 ? refusedField('input', NO_SUCH_ITEM) : error;
  }
}

function lengthOf(item: SaidItem): number {
  if (item.type === 'message') return item.content.length;
  if (item.type === 'function_call') return item.arguments.length;
  return item.type === 'function_call_output' ? item.output.length : 0;
}
