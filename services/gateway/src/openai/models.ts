import type { Result } from '@switchyard/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { Model, ModelList } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { RefusalError } from '../request/refusal.ts';
import { createCallOptions } from '../request/trace.ts';

type VisibleModel = Result<'models.visible'>['models'][number];

const LIST: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'The models and agents that can be asked.',
  answers: { 200: { description: 'The models.', schema: ModelList } },
};

const ONE: RouteDoc = {
  scopes: ['rpc', 'api'],
  summary: 'One model by its id, whose slash may come raw or encoded.',
  wildcard: 'model',
  answers: { 200: { description: 'The model.', schema: Model } },
  refusals: [404],
};

/** `GET /v1/models` and one of them by its id, whose slash may come raw or encoded. */
export function registerModels(app: FastifyInstance, edge: Edge): void {
  const visible = async (request: FastifyRequest): Promise<readonly VisibleModel[]> =>
    (await edge.bus.as(request.caller.principal).call('models.visible', {}, createCallOptions(request))).models;

  app.get('/v1/models', edge.route(LIST), async (request) => ({ object: 'list', data: (await visible(request)).map(modelObject) }));

  app.get('/v1/models/*', edge.route(ONE), async (request) => {
    const { '*': wanted } = request.params as { '*': string };
    const model = (await visible(request)).find(({ id }) => id === wanted);
    if (!model) throw new RefusalError({ status: 404, message: 'Model not found', code: 'NOT_FOUND' });
    return modelObject(model);
  });
}

function modelObject({ id, ownedBy }: VisibleModel) {
  return { id, object: 'model', created: 0, owned_by: ownedBy };
}
