import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGraph } from './graph.fixture.ts';

const channel = { announceChannelType: 'telegram', announceChannelId: '678' };
const gate = {
  node_id: 'gate',
  task: 'Publish?',
  type_id: 'approval-gate' as const,
  type_config: { message: 'Publish {{draft.result}} for ${WHO}?' },
};
const nodes = [
  { node_id: 'draft', task: 'Write.' },
  { ...gate, depends_on: ['draft'] },
  { node_id: 'publish', task: 'Publish.', depends_on: ['gate'] },
];

type App = Awaited<ReturnType<typeof testGraph>>;

async function getNode({ bus }: App, graphId: string, nodeId: string) {
  const progress = await bus.call('graph.status', { graphId });
  return 'nodes' in progress ? progress.nodes[nodeId] : undefined;
}

test('an approval gate requests an approval in its channel, and the graph goes on when it is approved', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes });
  await assert.rejects(app.bus.call('graph.execute', { graphId }), { code: 'INVALID_ARGUMENT', message: /announceChannelType/ });
  const executed = app.bus.call('graph.execute', { graphId, ...channel, inputs: { WHO: 'all' } });
  app.turns.end(await app.turns.next(), 'A page');
  const question = await app.turns.nextQuestion();
  assert.deepEqual(
    [question.message, question.channelId, question.action, question.timeoutMs],
    ['Publish A page for all?', 'telegram:678', 'graph.gate', 3_600_000],
  );
  const status = await app.bus.call('graph.status', {});
  // A request takes no slot of the steps.
  assert.equal('concurrency' in status && status.concurrency.globalActiveSubAgents, 0);
  app.turns.decide(question, { state: 'approved', decidedBy: 'operator', reason: 'read it' });
  app.turns.end(await app.turns.next(), 'Done.');
  const { status: end, outputs } = await executed;
  assert.deepEqual([end, outputs['gate']], ['completed', 'Approved by operator. Reason: read it']);
});

test('a denied or expired approval fails the gate, which is not asked again', async () => {
  await using app = await testGraph();
  for (const [state, error] of [
    ['denied', /^denied by chat:alice/],
    ['expired', /nobody approved in time/],
  ] as const) {
    const { graphId } = await app.bus.call('graph.define', { nodes: [{ ...gate, type_config: {} }] });
    const executed = app.bus.call('graph.execute', { graphId, ...channel });
    app.turns.decide(await app.turns.nextQuestion(), { state, decidedBy: 'chat:alice' });
    assert.equal((await executed).status, 'failed');
    assert.match((await getNode(app, graphId, 'gate'))?.error ?? '', error);
  }
  assert.equal(app.turns.questions.size, 2);
});

test('graph.cancel withdraws the request of a gate', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: [{ ...gate, type_config: {} }] });
  const executed = app.bus.call('graph.execute', { graphId, ...channel });
  const { requestId } = await app.turns.nextQuestion();
  assert.deepEqual(await app.bus.call('graph.cancel', { graphId }), { graphId, cancelled: true });
  assert.equal((await executed).status, 'cancelled');
  assert.match((await getNode(app, graphId, 'gate'))?.error ?? '', /cancelled/);
  assert.equal(app.turns.withdrawn.has(requestId), true);
});
