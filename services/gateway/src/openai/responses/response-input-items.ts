import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../../openapi/route-doc.ts';
import { RESPONSE_ITEMS_LIMIT, ResponseInputItems, ResponseItemsQuery } from '../../openapi/schemas.ts';
import type { Edge } from '../../http/edge.ts';
import { type Query, getQueryLimit, getQueryText } from '../../request/query.ts';
import { keptOf, uncached } from './stored-response.ts';
import { inputItems, shownItem, type KeptItem } from './stored-response-items.ts';
import { refusedField } from '../openai-body.ts';

const DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'What a response was made from, newest first.',
  query: ResponseItemsQuery,
  answers: { 200: { description: 'A page of items, under ids that a later request may refer to.', schema: ResponseInputItems } },
  refusals: [404],
};

interface Page {
  items: readonly KeptItem[];
  more: boolean;
}

/** `GET /v1/responses/{id}/input_items`: what a response was made from, of the responses before it too. */
export function registerResponseInputItems(app: FastifyInstance, edge: Edge): void {
  app.get<{ Params: { id: string } }>('/v1/responses/:id/input_items', edge.route(DOC), async (request, reply) => {
    const query = request.query as Query;
    const order = getQueryText(query, 'order') ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw refusedField('order', 'expected "asc" or "desc", got another string');
    const all = inputItems(await keptOf(edge, request, request.params.id, true));
    const { items, more } = pageOf(order === 'asc' ? all : all.toReversed(), query);
    return uncached(reply, {
      object: 'list',
      data: items.map(shownItem),
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
      has_more: more,
    });
  });
}

function pageOf(items: readonly KeptItem[], query: Query): Page {
  const limit = getQueryLimit(query, RESPONSE_ITEMS_LIMIT);
  const after = getQueryText(query, 'after');
  const from = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw refusedField('after', 'expected the id of an item of this response, got another');
  return { items: items.slice(from, from + limit), more: from + limit < items.length };
}
