import type { Result } from '@switchyard/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Model, ModelList } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';

type VisibleModel = Result<'models.visible'>['models'][number];

const LIST_DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'Lists the models and agents that the caller can use.',
  responses: { 200: { description: 'The models.', schema: ModelList } },
};

const GET_DOC: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'Returns one model by its id. The slash of the id may be encoded.',
  wildcard: 'model',
  responses: { 200: { description: 'The model.', schema: Model } },
  refusals: [404],
};

/** `GET /v1/models` and `/v1/models/{id}`. */
export function registerModels(app: FastifyInstance, edge: Edge): void {
  const listVisible = async (request: FastifyRequest): Promise<readonly VisibleModel[]> =>
    (await edge.bus.as(request.caller.principal).call('models.visible', {}, createCallOptions(request))).models;

  app.get('/v1/models', edge.route(LIST_DOC), async (request) => ({
    object: 'list',
    data: (await listVisible(request)).map(toModelObject),
  }));

  app.get('/v1/models/*', edge.route(GET_DOC), async (request) => {
    const { '*': modelId } = request.params as { '*': string };
    const model = (await listVisible(request)).find(({ id }) => id === modelId);
    if (!model) throw new RefusalError({ status: 404, message: 'Model not found', code: 'NOT_FOUND' });
    return toModelObject(model);
  });
}

function toModelObject({ id, ownedBy }: VisibleModel) {
  return { id, object: 'model', created: 0, owned_by: ownedBy };
}
