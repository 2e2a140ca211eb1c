import { MAX } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import type { Edge } from '../../http/edge.ts';
import { RefusalError } from '../../request/refusal.ts';
import type { ResponseItem, InlineItem } from './response-items.ts';
import { getStoredResponse } from './stored-response.ts';
import { listInputItems, listOutputItems, parseItemId, type StoredItem } from './stored-response-items.ts';
import { toResponseId } from './response-resource.ts';
import { createFieldError } from '../openai-body.ts';

/** Responses that one request may refer to. */
const MAX_RESPONSES = 256;
/** Responses that are read concurrently. */
const READ_CONCURRENCY = 8;

/** The input of a request, and what happens to a reference to an item that the caller does not have. */
interface ReferencingInput {
  items: readonly ResponseItem[];
  /** Leaves the reference out or throws. */
  onUnknown: () => void;
}

/** Rejects a reference to an unknown item before a turn starts. */
export function rejectUnknownItem(): never {
  throw createFieldError('input', UNKNOWN_ITEM);
}

/** Replaces each reference in the items by the stored item. Only items of the caller can be referenced. */
export async function resolveReferences(
  edge: Edge,
  request: FastifyRequest,
  { items, onUnknown }: ReferencingInput,
): Promise<InlineItem[]> {
  const ids = items.filter(({ type }) => type === 'item_reference').map((item) => ('id' in item ? item.id : ''));
  if (ids.length === 0) return items.filter((item) => item.type !== 'item_reference');
  const itemsById = await readResponses(edge, request, listResponses(ids));
  let length = 0;
  return items.flatMap((item) => {
    if (item.type !== 'item_reference') return item;
    const stored = itemsById.get(item.id);
    if (stored === undefined) {
      onUnknown();
      return [];
    }
    // Repeated references could turn a small request into a large one.
    length += getLength(stored);
    if (length > MAX.payload) throw createFieldError('input', `expected references to at most ${MAX.payload} characters, got more`);
    return stored;
  });
}

const UNKNOWN_ITEM = 'expected references to stored items, got another id';

/** Lists the responses to read, and whether to include their input. Ids of other formats belong to none. */
function listResponses(ids: readonly string[]): [turnId: string, talk: boolean][] {
  const needed = new Map<string, boolean>();
  for (const id of ids) {
    const location = parseItemId(id);
    if (location === undefined) continue;
    needed.set(location.turnId, needed.get(location.turnId) === true || location.side === 'input');
  }
  if (needed.size > MAX_RESPONSES) throw createFieldError('input', `expected references to at most ${MAX_RESPONSES} responses, got more`);
  return [...needed];
}

async function readResponses(
  edge: Edge,
  request: FastifyRequest,
  pending: [turnId: string, talk: boolean][],
): Promise<Map<string, InlineItem>> {
  const itemsById = new Map<string, InlineItem>();
  const read = async (): Promise<void> => {
    for (let next = pending.pop(); next; next = pending.pop())
      for (const { id, item } of await readItems(edge, request, next)) itemsById.set(id, item);
  };
  await Promise.all(Array.from({ length: READ_CONCURRENCY }, read));
  return itemsById;
}

async function readItems(edge: Edge, request: FastifyRequest, [turnId, talk]: [turnId: string, talk: boolean]): Promise<StoredItem[]> {
  try {
    const response = await getStoredResponse(edge, request, toResponseId(turnId), talk);
    return [...listInputItems(response), ...listOutputItems(response)];
  } catch (error) {
    if (error instanceof RefusalError && error.refusal.status === 404) return [];
    throw error;
  }
}

function getLength(item: InlineItem): number {
  if (item.type === 'message') return item.content.length;
  if (item.type === 'function_call') return item.arguments.length;
  return item.type === 'function_call_output' ? item.output.length : 0;
}
