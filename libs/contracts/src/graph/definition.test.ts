import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { GraphDefinition, GraphNodeInput } from './definition.ts';
import { expectedConfig, nodeTypeConfigs, NodeType } from './node-types.ts';

const plain = { node_id: 'report', task: 'Write a page.' };
const defaults = { depends_on: [], barrier_mode: 'all', context_mode: 'full' };

function refused(node: unknown, message: string): void {
  assert.throws(() => parseParams(GraphDefinition, { nodes: [node] }), { code: 'INVALID_ARGUMENT', message: `Invalid params: ${message}` });
}

test('a plain node gets every default', () => {
  assert.deepEqual(parseParams(GraphNodeInput, plain), { ...plain, ...defaults });
});

test('snake case and camelCase come out alike', () => {
  const snake = {
    ...plain,
    depends_on: ['research'],
    agent: 'ada',
    timeout_ms: 1000,
    max_steps: 5,
    barrier_mode: 'majority',
    context_mode: 'refs',
    type_id: 'refine',
    type_config: { reviewers: ['ada', 'grace'] },
    mcp_servers: ['files'],
    retries: 0,
    model: 'dev/echo',
  };
  const camel = {
    nodeId: 'report',
    task: 'Write a page.',
    dependsOn: ['research'],
    agentId: 'ada',
    timeoutMs: 1000,
    maxSteps: 5,
    barrierMode: 'majority',
    contextMode: 'refs',
    typeId: 'refine',
    typeConfig: { reviewers: ['ada', 'grace'] },
    mcpServers: ['files'],
    retries: 0,
    model: 'dev/echo',
  };
  assert.deepEqual(parseParams(GraphNodeInput, snake), snake);
  assert.deepEqual(parseParams(GraphNodeInput, camel), snake);
});

test('a field under two of its names is refused, so that no value is lost', () => {
  refused({ ...plain, nodeId: 'report' }, 'nodes.0.nodeId: expected only one of node_id, nodeId, got string');
  refused({ ...plain, depends_on: [], dependsOn: ['a'] }, 'nodes.0.dependsOn: expected only one of depends_on, dependsOn, got array');
});

test('a complaint names the spelling that was used', () => {
  refused({ ...plain, timeoutMs: 'soon' }, 'nodes.0.timeoutMs: expected number, got string');
  refused({ ...plain, timeout_ms: 'soon' }, 'nodes.0.timeout_ms: expected number, got string');
  refused({ task: 'Write a page.' }, 'nodes.0.node_id: expected string, got nothing');
  refused({ node_id: 'report' }, 'nodes.0.task: expected string, got nothing');
  refused({ ...plain, prompt: 'x' }, 'nodes.0.prompt: expected no such parameter, got an unknown name');
});

test('a node id can stand in a template and in a file name', () => {
  for (const id of ['a', 'A-1_b']) assert.equal(parseParams(GraphNodeInput, { ...plain, node_id: id }).node_id, id);
  for (const id of ['', 'a b', '../a', 'a.b', '{{a}}'])
    assert.equal(GraphNodeInput.safeParse({ ...plain, node_id: id }).success, false, id);
});

test('a type and its config come together', () => {
  refused({ ...plain, type_id: 'vote' }, 'nodes.0.type_config: expected type_id and type_config together, got nothing');
  refused({ ...plain, typeConfig: {} }, 'nodes.0.type_id: expected type_id and type_config together, got nothing');
});

test('a graph has 1 to 20 nodes and a node is tried again up to 3 times', () => {
  const many = (count: number) => ({ nodes: Array.from({ length: count }, (_, at) => ({ ...plain, node_id: `n${at}` })) });
  assert.equal(parseParams(GraphDefinition, many(20)).nodes.length, 20);
  assert.throws(() => parseParams(GraphDefinition, many(0)), /nodes: expected array of at least 1 item/);
  assert.throws(() => parseParams(GraphDefinition, many(21)), /nodes: expected array of at most 20 items/);
  assert.equal(parseParams(GraphNodeInput, { ...plain, retries: 3 }).retries, 3);
  assert.equal(GraphNodeInput.safeParse({ ...plain, retries: 4 }).success, false);
  assert.equal(GraphNodeInput.safeParse({ ...plain, retries: -1 }).success, false);
});

test('a graph gets its own defaults', () => {
  const { onFailure, timeoutMs } = parseParams(GraphDefinition, { nodes: [plain] });
  assert.deepEqual({ onFailure, timeoutMs }, { onFailure: 'fail-fast', timeoutMs: 1_500_000 });
});

test('every type has a config, and a hint that marks what is optional', () => {
  assert.deepEqual(Object.keys(nodeTypeConfigs), NodeType.options);
  assert.equal(expectedConfig('debate'), 'Expected: { agents: string[], rounds?: number, synthesizer?: string }');
  assert.equal(
    expectedConfig('map-reduce'),
    'Expected: { mappers: { agent: string, task_suffix?: string }[], reducer: string, reducer_prompt?: string }',
  );
});
