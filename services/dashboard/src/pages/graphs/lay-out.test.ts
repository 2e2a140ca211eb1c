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
