import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import type { MethodSpec } from './define.ts';
import { errorData, jsonRpcCode, ServiceError } from './errors.ts';
import { inputSchema } from './json-schema.ts';
import { publicMethods } from '../catalog/contracts.ts';

test('a rate that was exceeded is -32000, a place that is full is -32603, and both say whether and when to try again', () => {
  const rate = new ServiceError('RESOURCE_EXHAUSTED', 'At most 5 writes a minute.', { details: { rate: true, retryAfterMs: 9_000 } });
  const full = new ServiceError('RESOURCE_EXHAUSTED', 'There are 100 jobs, and no more are kept.');
  const told = { code: 'RESOURCE_EXHAUSTED', requestId: 'req', retryable: true };
  assert.deepEqual([jsonRpcCode(rate), errorData(rate, 'req')], [-32000, { ...told, retryAfterMs: 9_000 }]);
  assert.deepEqual([jsonRpcCode(full), errorData(full, 'req')], [-32603, told]);
});

test('an agent nobody knows is a wrong argument where it is to do the work, and not found where it is the thing asked for', () => {
  const described = (name: string): string => JSON.stringify(inputSchema(publicMethods.get(name)?.spec.params as z.ZodType));
  for (const name of ['agent.execute', 'agent.stream', 'session.send', 'session.spawn', 'cron.add', 'graph.define'])
    assert.match(described(name), /an unknown agent is INVALID_ARGUMENT/, name);

  const asked = /^(agents|workspace)\.|^heartbeat\.(get|update|trigger)$|^agent\.(cacheStats|getOperationModels)$/;
  const named = [...publicMethods.values()].filter(({ name }) => asked.test(name) && described(name).includes('"agentId"'));
  assert.equal(named.length, 22);
  for (const { name, spec } of named) assert.ok((spec as MethodSpec).errors?.includes('NOT_FOUND'), name);
});
