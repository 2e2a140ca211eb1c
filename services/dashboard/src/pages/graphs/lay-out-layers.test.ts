import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOutLayers } from './lay-out-layers.ts';

const SPACING = { columnWidth: 10, layerHeight: 5 };

test('each node is below all nodes that it waits for, and no two nodes have one place', () => {
  const nodes = Array.from({ length: 200 }, (_, n) => ({ id: `n${n}`, sources: n < 10 ? [] : [`n${n - 10}`, `n${n - 7}`] }));
  const places = layOutLayers(nodes.toReversed(), SPACING);
  for (const { id, sources } of nodes) for (const source of sources) assert.ok((places.get(id)?.y ?? 0) > (places.get(source)?.y ?? 0));
  assert.equal(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size, nodes.length);
});

test('a node is near the nodes that it waits for', () => {
  const places = layOutLayers(
    [
      { id: 'left', sources: [] },
      { id: 'right', sources: [] },
      { id: 'below right', sources: ['right'] },
      { id: 'below left', sources: ['left'] },
    ],
    SPACING,
  );
  assert.deepEqual(places.get('below left'), { x: -5, y: 5 });
  assert.deepEqual(places.get('below right'), { x: 5, y: 5 });
});

test('nodes of a cycle have a place', () => {
  const places = layOutLayers(
    [
      { id: 'a', sources: ['b'] },
      { id: 'b', sources: ['a'] },
      { id: 'c', sources: ['b'] },
    ],
    SPACING,
  );
  assert.equal(places.size, 3);
});
