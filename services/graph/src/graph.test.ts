import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { failure, testGraph } from './graph.fixture.ts';

const chain = [
  { node_id: 'research', task: 'Find out who sells ${PRODUCT}.' },
  { node_id: 'report', task: 'Write a page about {{research.result}}', depends_on: ['research'] },
];

test('a graph runs its nodes in order, and each node reads the outputs of its dependencies', async () => {
  await using app = await testGraph();
  const { graphId, executionOrder, userVariables } = await app.bus.call('graph.define', { nodes: chain, label: 'market' });
  assert.deepEqual([executionOrder, userVariables], [['research', 'report'], ['PRODUCT']]);
  const executed = app.bus.call('graph.execute', { graphId, inputs: { PRODUCT: 'switches' } });
  const research = await app.turns.next();
  assert.match(research.message, /node research \(1 of 2\) of the graph "market"[^]*Find out who sells switches\./);
  assert.deepEqual([research.kind, research.origin.service, research.context], ['graph', 'graph', undefined]);
  app.turns.end(research, 'Three vendors.');
  const report = await app.turns.next();
  assert.match(report.message, /Write a page about Three vendors\./);
  assert.deepEqual(report.context, [{ title: 'Output of research', text: 'Three vendors.' }]);
  app.turns.end(report, 'A page.');
  const { runId, ...result } = await executed;
  assert.deepEqual(result, { graphId, status: 'completed', outputs: { research: 'Three vendors.', report: 'A page.' }, warnings: [] });
  assert.deepEqual([...app.turns.orders.keys()], [`${runId}/research/1/0`, `${runId}/report/1/0`]);
  assert.equal((await app.nextEvent('graph:started')).label, 'market');
  const { status, nodesCompleted } = await app.nextEvent('graph:completed');
  assert.deepEqual([status, nodesCompleted], ['completed', 2]);
  const progress = await app.bus.call('graph.status', { graphId });
  assert.ok('nodes' in progress);
  assert.deepEqual([progress.isTerminal, progress.stats.completed, progress.nodes['report']?.output], [true, 2, 'A page.']);
  assert.deepEqual([progress.nodes['research']?.dependsOn, progress.nodes['report']?.dependsOn], [[], ['research']]);
});

test('graph.cancel lets running nodes finish and starts no further node', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  const executed = app.bus.call('graph.execute', { graphId });
  const research = await app.turns.next();
  assert.deepEqual(await app.bus.call('graph.cancel', { graphId }), { graphId, cancelled: true });
  assert.equal((await executed).status, 'cancelled');
  assert.equal((await app.nextEvent('graph:completed')).cancelReason, 'manual');
  app.turns.end(research, 'late');
  let outputs: Record<string, string | null> = {};
  while (outputs['research'] === undefined || outputs['research'] === null)
    ({ outputs } = await app.bus.call('graph.outputs', { graphId }));
  assert.deepEqual(outputs, { research: 'late', report: null });
  await assert.rejects(app.bus.call('graph.cancel', { graphId }), { code: 'FAILED_PRECONDITION', message: /cancelled/ });
  assert.equal(app.turns.orders.size, 1);
});

test('a failed node is repeated in its session, and then fails the run', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: chain.slice(0, 1), onFailure: 'continue' });
  const executed = app.bus.call('graph.execute', { graphId });
  const first = await app.turns.next();
  app.turns.end(first, failure('the model did not answer'));
  const second = await app.turns.next();
  assert.deepEqual(second.session, first.session);
  assert.match(second.idempotencyKey, /\/research\/2\/0$/);
  app.turns.end(second, failure('again'));
  assert.equal((await executed).status, 'failed');
  const progress = await app.bus.call('graph.status', { graphId });
  assert.ok('nodes' in progress);
  assert.equal(progress.nodes['research']?.error, 'again');
});

test('graphs of another client or tenant are not found', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  for (const other of [principal({ tenant: 'elsewhere' }), principal({ client: 'bob', sessions: 'own' })])
    for (const method of ['graph.status', 'graph.execute', 'graph.outputs', 'graph.cancel'] as const)
      await assert.rejects(app.bus.as(other).call(method, { graphId }), { code: 'NOT_FOUND' });
});

test('the start stagger delays the second of two steps', async () => {
  const staggerMs = 150;
  await using app = await testGraph({ settings: { security: { agentToAgent: { graphStartStaggerMs: staggerMs } } } });
  const times: number[] = [];
  app.turns.answer(() => {
    times.push(performance.now());
    return 'done';
  });
  const { graphId } = await app.bus.call('graph.define', { nodes: ['a', 'b'].map((nodeId) => ({ node_id: nodeId, task: 'x' })) });
  assert.equal((await app.bus.call('graph.execute', { graphId })).status, 'completed');
  const [first = 0, second = 0] = times;
  assert.ok(second - first >= staggerMs / 2, `the second step started ${second - first} ms after the first`);
});
