import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutGraph } from './lay-out.ts';

test('places a node below the nodes that it waits for', () => {
  const { placed, edges } = layOutGraph([
    { id: 'report', dependsOn: ['left', 'right'] },
    { id: 'left', dependsOn: [] },
    { id: 'right', dependsOn: [] },
  ]);
  const [report, left, right] = placed;
  assert.ok(report && left && right);
  assert.ok(report.y > left.y);
  assert.equal(left.y, right.y);
  assert.notEqual(left.x, right.x);
  assert.deepEqual(edges, [
    ['left', 'report'],
    ['right', 'report'],
  ]);
});

test('ignores a dependency on an unknown node, and a name of the prototype', () => {
  const { placed, edges } = layOutGraph([{ id: '__proto__', dependsOn: ['missing'] }]);
  assert.deepEqual([placed.length, edges], [1, []]);
});

test('a graph of 200 nodes has each node below those that it waits for, and no two at the same place', () => {
  const nodes = Array.from({ length: 200 }, (_, n) => ({ id: `n${n}`, dependsOn: n < 10 ? [] : [`n${n - 10}`, `n${n - 7}`] }));
  const { placed, edges } = layOutGraph(nodes);
  const places = new Map(placed.map((node) => [node.id, node]));
  for (const [source, target] of edges) assert.ok((places.get(source)?.y ?? 0) < (places.get(target)?.y ?? 0), `${source} ${target}`);
  assert.equal(new Set(placed.map(({ x, y }) => `${x} ${y}`)).size, nodes.length);
});
