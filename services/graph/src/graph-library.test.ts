import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, tempDir } from '@switchyard/testkit';
import { failure, testGraph } from './graph.fixture.ts';

const chain = [
  { node_id: 'research', task: 'Find out who sells ${PRODUCT}.' },
  { node_id: 'report', task: 'Write a page.', depends_on: ['research'], retries: 0 },
];

test('graph.resume keeps the outputs of completed nodes and starts the others again', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  app.turns.answer(({ idempotencyKey }) => (idempotencyKey.includes('/report/') ? failure('no paper') : 'Three vendors.'));
  const { runId, status, warnings } = await app.bus.call('graph.execute', { graphId });
  assert.equal(status, 'failed');
  assert.deepEqual(
    warnings.map(({ type }) => type),
    ['unresolved_variable'],
  );
  app.turns.answer(() => 'A page.');
  const resumed = await app.bus.call('graph.resume', { runId, inputs: { PRODUCT: 'switches' } });
  assert.deepEqual(resumed, {
    graphId,
    runId,
    status: 'completed',
    outputs: { research: 'Three vendors.', report: 'A page.' },
    warnings: [],
  });
  assert.deepEqual([...app.turns.orders.keys()], [`${runId}/research/1/0`, `${runId}/report/1/0`, `${runId}/report/2/0`]);
  await assert.rejects(app.bus.call('graph.resume', { runId }), { code: 'FAILED_PRECONDITION', message: /has completed/ });
});

test('a saved graph is loaded under a fresh id, and deleting it leaves its runs', async () => {
  await using app = await testGraph();
  app.turns.answer(() => 'done');
  const { graphId } = await app.bus.call('graph.define', { nodes: chain, label: 'market' });
  await app.bus.call('graph.save', { name: 'market', graphId });
  assert.deepEqual(
    (await app.bus.call('graph.list', {})).graphs.map(({ name, nodeCount }) => [name, nodeCount]),
    [['market', 2]],
  );
  assert.deepEqual((await app.bus.as(principal({ client: 'bob', sessions: 'own' })).call('graph.list', {})).graphs, []);
  const loaded = await app.bus.call('graph.load', { name: 'market' });
  assert.notEqual(loaded.graphId, graphId);
  const { runId } = await app.bus.call('graph.execute', { graphId: loaded.graphId, inputs: { PRODUCT: 'x' } });
  await app.bus.call('graph.delete', { name: 'market' });
  await assert.rejects(app.bus.call('graph.load', { name: 'market' }), { code: 'NOT_FOUND' });
  const { runs } = await app.bus.call('graph.runs', { limit: 10 });
  assert.deepEqual(
    runs.map((run) => [run.runId, run.name, run.status, run.fileCount]),
    [[runId, 'market', 'completed', 2]],
  );
  const detail = await app.bus.call('graph.runDetail', { runId });
  assert.deepEqual(detail.nodes[1]?.artifacts, [{ filename: 'report-output.md', content: 'done' }]);
  assert.deepEqual(await app.bus.call('graph.deleteRun', { runId }), { runId, deleted: true });
  await assert.rejects(app.bus.call('graph.runDetail', { runId }), { code: 'NOT_FOUND' });
});

test('graph.deleteRun refuses a running run', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  const executed = app.bus.call('graph.execute', { graphId });
  const { idempotencyKey } = await app.turns.next();
  const runId = idempotencyKey.split('/')[0]!;
  await assert.rejects(app.bus.call('graph.deleteRun', { runId }), { code: 'FAILED_PRECONDITION' });
  await app.bus.call('graph.cancel', { graphId });
  await executed;
});

test('graph.mermaid shows the states of the latest run', async () => {
  await using app = await testGraph();
  app.turns.answer(() => 'done');
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  assert.match((await app.bus.call('graph.mermaid', { graphId })).mermaid, /^flowchart TD\n {2}n0\["research"\]\n/);
  await app.bus.call('graph.execute', { graphId });
  assert.match((await app.bus.call('graph.mermaid', { graphId })).mermaid, /n1\["report<br\/>completed, [0-9.]+ s"\]\n {2}n0 --> n1\n$/);
});

test('the tools pipeline and graph_output run a graph and read a long output', async () => {
  await using app = await testGraph({ settings: { security: { agentToAgent: { graphMaxResultLength: 10 } } } });
  app.turns.answer(() => 'x'.repeat(60_000));
  const agent = (await app.host.connect('sessions')).as(principal());
  const { runId, outputs } = await agent.call('graph.pipeline', { nodes: [{ node_id: 'long', task: 'Write.' }] });
  assert.match(outputs['long'] ?? '', /^x{10}\n\[10 of 60000 characters\. The tool graph_output reads all: runId run_\w+, nodeId long\]$/);
  const first = await agent.call('graph.output', { runId, nodeId: 'long' });
  const second = await agent.call('graph.output', { runId, nodeId: 'long', offset: first.nextOffset ?? 0 });
  assert.deepEqual([first.text.length + second.text.length, second.nextOffset], [60_000, undefined]);
});

test('a run continues after a restart and reuses the nodes that have completed', async () => {
  await using data = await tempDir();
  let graphId: string;
  {
    await using app = await testGraph({ data: data.path });
    ({ graphId } = await app.bus.call('graph.define', { nodes: chain }));
    const client = new AbortController();
    const executed = app.bus.call('graph.execute', { graphId }, { signal: client.signal }).catch(() => undefined);
    app.turns.end(await app.turns.next(), 'Three vendors.');
    await app.turns.next();
    client.abort();
    await executed;
  }
  await using app = await testGraph({ data: data.path });
  const progress = await app.bus.call('graph.status', { graphId });
  assert.deepEqual('status' in progress && [progress.status, progress.stats.completed], ['running', 1]);
  // The sessions service of this test does not know the turn of the report, so that its node fails.
  (await app.host.connect('sessions')).wake('graph');
  const { nodesCompleted, nodesFailed } = await app.nextEvent('graph:completed');
  assert.deepEqual([nodesCompleted, nodesFailed, app.turns.orders.size], [1, 1, 0]);
});
