import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unbounded } from '@switchyard/testkit';
import type { z } from 'zod';
import type { Contract } from '../definition/define.ts';
import { notifications } from '../catalog/notifications.ts';
import * as projections from '../catalog/projections.ts';
import { callables, contracts } from '../catalog/contracts.ts';
import { ConfigurationPatch, sections } from '../config/sections.ts';
import { nodeTypeConfigs } from '../graph/node-types.ts';

type Named = readonly [name: string, schema: z.ZodType];

function* schemas(): Generator<Named> {
  for (const { name, spec } of callables.values()) {
    yield [`${name} params`, spec.params];
    yield [`${name} result`, spec.result];
    if (spec.chunk) yield [`${name} chunk`, spec.chunk];
  }
  for (const { events } of Object.values(contracts) as Contract[]) {
    for (const [name, { payload }] of Object.entries(events)) yield [`${name} payload`, payload];
  }
  for (const [name, { params }] of Object.entries(notifications)) yield [`${name} notification`, params];
  for (const [name, schema] of Object.entries(sections)) yield [`section ${name}`, schema];
  yield ['a layer of the configuration', ConfigurationPatch];
  for (const [name, schema] of Object.entries(projections)) yield [`projection ${name}`, schema];
  for (const [name, schema] of Object.entries(nodeTypeConfigs)) yield [`graph node ${name}`, schema];
}

describe('every text, list, map and record has a maximum', () => {
  test('in each of the contracts, sections, notifications and projections', () => {
    const all = [...schemas()];
    assert.ok(all.length > 2 * callables.size, `${all.length} schemas`);
    assert.deepEqual(
      all.flatMap(([name, schema]) => unbounded(schema).map((path) => `${name}: ${path}`)),
      [],
    );
  });
});
