import type { Result } from '@switchyard/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Edge } from '../edge.ts';
import { RefusalError } from '../server/refusal.ts';
import { callOptions } from '../server/trace.ts';

type VisibleModel = Result<'models.visible'>['models'][number];

/** `GET /v1/models` and one of them by its id, whose slash may come raw or encoded. */
export function registerModels(app: FastifyInstance, edge: Edge): void {
  const options = { onRequest: edge.guard({ scopes: ['rpc', 'api'] }) };
  const visible = async (request: FastifyRequest): Promise<readonly VisibleModel[]> =>
    (await edge.bus.as(request.caller.principal).call('models.visible', {}, callOptions(request))).models;

  app.get('/v1/models', options, async (request) => ({ object: 'list', data: (await visible(request)).map(modelObject) }));

  app.get('/v1/models/*', options, async (request) => {
    const { '*': wanted } = request.params as { '*': string };
    const model = (await visible(request)).find(({ id }) => id === wanted);
    if (!model) throw new RefusalError({ status: 404, message: 'Model not found', code: 'NOT_FOUND' });
    return modelObject(model);
  });
}

function modelObject({ id, ownedBy }: VisibleModel) {
  return { id, object: 'model', created: 0, owned_by: ownedBy };
}
