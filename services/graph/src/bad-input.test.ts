import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGraph } from './graph.fixture.ts';

const node = { node_id: 'a', task: 'Work.' };

test('graph.define rejects graphs that cannot run, with the reason', async () => {
  await using app = await testGraph();
  const define = (params: object) => app.bus.call('graph.define', params as Parameters<typeof app.bus.call<'graph.define'>>[1]);
  for (const [nodes, message] of [
    [Array.from({ length: 21 }, (_, n) => ({ ...node, node_id: `n${n}` })), /nodes/],
    [[{ ...node, task: 'x'.repeat(1_048_576) }], /task/],
    [[node, node], /two nodes have the id a/],
    [[{ ...node, depends_on: ['a'] }], /depends on itself/],
    [[{ ...node, depends_on: ['b'] }], /depends on b, which does not exist/],
    [
      [
        { ...node, depends_on: ['b'] },
        { ...node, node_id: 'b', depends_on: ['a'] },
      ],
      /the nodes a, b contain a cycle/,
    ],
    [[{ ...node, agent: 'nobody' }], /The agent nobody of node a does not exist/],
    [[{ ...node, type_id: 'vote', type_config: { voters: ['default'] } }], /Expected: \{ voters: string\[\], .*min_voters\?: number \}$/],
  ] as const)
    await assert.rejects(define({ nodes }), { code: 'INVALID_ARGUMENT', message });
});

test('a template of a node that is no dependency is a warning, and unclosed placeholders are text', async () => {
  await using app = await testGraph();
  const task = 'Use {{b.result}} and ${ and ${NAME}.';
  const { graphId, warnings } = await app.bus.call('graph.define', { nodes: [{ ...node, task }] });
  assert.deepEqual(
    warnings.map(({ type, fix }) => [type, fix]),
    [['unresolved_template', 'Add b to depends_on.']],
  );
  const executed = app.bus.call('graph.execute', { graphId, inputs: { NAME: '{{a.result}}' } });
  const order = await app.turns.next();
  assert.match(order.message, /Use \[the output of b is unavailable\] and \$\{ and \{\{a\.result\}\}\.$/);
  app.turns.end(order);
  assert.equal((await executed).status, 'completed');
});
