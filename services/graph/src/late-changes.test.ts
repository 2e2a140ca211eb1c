import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { failure, testGraph } from './graph.fixture.ts';

const RACES = 8;
const chain = [
  { node_id: 'research', task: 'Search.', agent: 'writer' },
  { node_id: 'report', task: 'Write.', agent: 'writer', depends_on: ['research'] },
];

test('the nodes of an agent that is deleted half way fail with that reason', async () => {
  await using app = await testGraph({ agents: ['writer'] });
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  const executed = app.bus.call('graph.execute', { graphId });
  const research = await app.turns.next();
  // The sessions service rejects the orders of a deleted agent with this error.
  app.turns.reject(new ServiceError('INVALID_ARGUMENT', 'Unknown agent: writer', { details: { reason: 'UNKNOWN_AGENT' } }));
  app.turns.end(research, 'Three vendors.');
  const { status, outputs } = await executed;
  assert.deepEqual([status, outputs], ['failed', { research: 'Three vendors.', report: null }]);
  const progress = await app.bus.call('graph.status', { graphId });
  assert.equal('nodes' in progress && progress.nodes['report']?.error, 'Unknown agent: writer');
  assert.equal(app.turns.orders.size, 1);
});

test('a node whose turn ends because its agent was deleted is not repeated', async () => {
  await using app = await testGraph({ agents: ['writer'] });
  const { graphId } = await app.bus.call('graph.define', { nodes: chain });
  const executed = app.bus.call('graph.execute', { graphId });
  const message = 'Agent writer of this session was deleted.';
  app.turns.end(await app.turns.next(), { ...failure(message), failure: { code: 'FAILED_PRECONDITION', message } });
  assert.equal((await executed).status, 'failed');
  const progress = await app.bus.call('graph.status', { graphId });
  assert.equal('nodes' in progress && progress.nodes['research']?.error, message);
  assert.equal(app.turns.orders.size, 1);
});

test('a cancellation that races the last node has one outcome', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: [{ node_id: 'a', task: 'Work.' }] });
  for (let race = 0; race < RACES; race += 1) {
    const executed = app.bus.call('graph.execute', { graphId });
    const order = await app.turns.next();
    app.turns.end(order);
    for (let ticks = 0; ticks < race; ticks += 1) await tick();
    const cancelled = await app.bus.call('graph.cancel', { graphId }).then(
      () => 'cancelled',
      (error: unknown) => (error instanceof ServiceError && error.code === 'FAILED_PRECONDITION' ? 'completed' : Promise.reject(error)),
    );
    const { runId, status } = await executed;
    assert.equal(status, cancelled);
    const event = await app.nextEvent('graph:completed');
    // A second event of the same run would be the next one.
    assert.deepEqual([event.runId, event.status], [runId, status]);
    const progress = await app.bus.call('graph.status', { graphId });
    assert.equal('status' in progress && progress.status, status);
  }
});

test('a run goes on when its saved graph is deleted', async () => {
  await using app = await testGraph();
  const defined = await app.bus.call('graph.define', { nodes: chain.map((node) => ({ ...node, agent: undefined })) });
  await app.bus.call('graph.save', { name: 'market', graphId: defined.graphId });
  const { graphId } = await app.bus.call('graph.load', { name: 'market' });
  const executed = app.bus.call('graph.execute', { graphId });
  const research = await app.turns.next();
  await app.bus.call('graph.delete', { name: 'market' });
  app.turns.end(research, 'Three vendors.');
  app.turns.end(await app.turns.next(), 'A page.');
  assert.deepEqual((await executed).outputs, { research: 'Three vendors.', report: 'A page.' });
});
