import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { buildGraphSchema } from './graph-schema.ts';

const validate = new Ajv({ strict: false }).compile(buildGraphSchema());
const vote = { node_id: 'a', task: 'x', type_id: 'vote' };

test('the schema of a graph file accepts both spellings and checks each type_config by its type_id', () => {
  const cases: [object, boolean][] = [
    [{ node_id: 'a', task: 'x' }, true],
    [{ nodeId: 'a', task: 'x', agentId: 'default', dependsOn: [] }, true],
    [{ ...vote, type_config: { voters: ['default', 'other'] } }, true],
    [{ nodeId: 'a', task: 'x', typeId: 'refine', typeConfig: { reviewers: ['default', 'other'] } }, true],
    [{ task: 'x' }, false],
    [{ node_id: 'a' }, false],
    [{ node_id: 'a', task: 'x', tsak: 'y' }, false],
    [vote, false],
    [{ ...vote, type_config: { voters: ['default'] } }, false],
    [{ ...vote, type_config: { voters: ['default', 'other'], rounds: 2 } }, false],
    [{ nodeId: 'a', task: 'x', typeId: 'refine', typeConfig: { agents: ['default', 'other'] } }, false],
  ];
  for (const [node, expected] of cases) assert.equal(validate({ nodes: [node] }), expected, JSON.stringify(node));
  assert.equal(validate({ $schema: './graph.schema.json', nodes: [{ node_id: 'a', task: 'x' }] }), true);
  assert.equal(validate({ nodes: Array.from({ length: 21 }, (_, n) => ({ node_id: `n${n}`, task: 'x' })) }), false);
});
