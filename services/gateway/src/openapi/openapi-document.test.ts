import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../gateway.fixture.ts';
import { buildOpenApiInSteps, type OpenApiDocument } from './openapi-document.ts';

const UNDOCUMENTED = ['GET /ws', 'OPTIONS /*', 'OPTIONS /api/*'];

test('every route for clients is documented', async () => {
  await using gateway = await startTestGateway();
  const undocumented = gateway.gateway.routes.filter(({ doc }) => doc === undefined).map(({ verb, path }) => `${verb} ${path}`);
  assert.deepEqual(undocumented.sort(), UNDOCUMENTED);
});

test('names the wildcard of a path and lists the error statuses', () => {
  const doc = { scopes: ['rpc'], summary: 'One.', wildcard: 'model', responses: { 200: { description: 'It.' } }, refusals: [404] } as const;
  const steps = buildOpenApiInSteps([{ verb: 'GET', path: '/v1/models/*', doc }], { url: 'http://here', version: '1.0.0' });
  steps.next();
  const { paths } = steps.next().value as OpenApiDocument;
  const { get } = paths['/v1/models/{model}'] as Record<string, { operationId: string; parameters: unknown; responses: object }>;
  assert.equal(get?.operationId, 'getV1ModelsModel');
  assert.deepEqual(get?.parameters, [{ name: 'model', in: 'path', required: true, schema: { type: 'string' } }]);
  assert.deepEqual(Object.keys(get?.responses ?? {}), ['200', '400', '401', '403', '404', '429', '503']);
});
