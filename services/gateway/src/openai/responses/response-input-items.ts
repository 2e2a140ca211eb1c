import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../../openapi/route-doc.ts';
import { RESPONSE_ITEMS_LIMIT, ResponseInputItems, ResponseItemsQuery } from '../../openapi/schemas.ts';
import type { Edge } from '../../http/edge.ts';
import { type Query, getQueryLimit, getQueryText } from '../../request/query.ts';
import { getStoredResponse, setNoStore } from './stored-response.ts';
import { listInputItems, renderItem, type StoredItem } from './stored-response-items.ts';
import { createFieldError } from '../openai-body.ts';

const DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'Lists the input items of a response, newest first.',
  query: ResponseItemsQuery,
  responses: { 200: { description: 'A page of items. A later request may refer to their ids.', schema: ResponseInputItems } },
  refusals: [404],
};

interface Page {
  items: readonly StoredItem[];
  hasMore: boolean;
}

/** `GET /v1/responses/{id}/input_items`: the input items of a response and of the responses before it. */
export function registerResponseInputItems(app: FastifyInstance, edge: Edge): void {
  app.get<{ Params: { id: string } }>('/v1/responses/:id/input_items', edge.route(DOC), async (request, reply) => {
    const query = request.query as Query;
    const order = getQueryText(query, 'order') ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw createFieldError('order', 'expected "asc" or "desc", got another string');
    const all = listInputItems(await getStoredResponse(edge, request, request.params.id, true));
    const { items, hasMore } = selectPage(order === 'asc' ? all : all.toReversed(), query);
    return setNoStore(reply, {
      object: 'list',
      data: items.map(renderItem),
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
      has_more: hasMore,
    });
  });
}

function selectPage(items: readonly StoredItem[], query: Query): Page {
  const limit = getQueryLimit(query, RESPONSE_ITEMS_LIMIT);
  const after = getQueryText(query, 'after');
  const start = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw createFieldError('after', 'expected the id of an item of this response, got another id');
  return { items: items.slice(start, start + limit), hasMore: start + limit < items.length };
}
