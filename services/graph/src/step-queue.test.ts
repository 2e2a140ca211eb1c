import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { principal } from '@switchyard/testkit';
import { roomsCollection, runCollection } from './documents/collections.ts';
import { testGraph } from './graph.fixture.ts';

const POLL_MS = 10;
const QUEUED = 4;

type App = Awaited<ReturnType<typeof testGraph>>;

async function getLoad({ bus }: App) {
  const status = await bus.call('graph.status', {});
  return 'concurrency' in status ? status.concurrency : assert.fail('graph.status has no concurrency');
}

async function awaitDepth(app: App, depth: number): Promise<void> {
  while ((await getLoad(app)).queueDepth !== depth) await sleep(POLL_MS);
}

test('steps above the limit of a tenant start in their order, and the status has the depth of the queue', async () => {
  await using app = await testGraph({ settings: { security: { agentToAgent: { graphMaxGlobalSubAgents: 1 } } } });
  const define = async (task: string) => (await app.bus.call('graph.define', { nodes: [{ node_id: 'a', task }] })).graphId;
  const executions: Promise<{ status: string }>[] = [];
  for (let n = 0; n <= QUEUED; n += 1) {
    executions.push(app.bus.call('graph.execute', { graphId: await define(`task ${n}`) }));
    await awaitDepth(app, n);
  }
  const { globalActiveSubAgents, maxGlobalSubAgents, queueDepth } = await getLoad(app);
  assert.deepEqual([globalActiveSubAgents, maxGlobalSubAgents, queueDepth], [1, 1, QUEUED]);
  let order = await app.turns.next();

  // The queue of one tenant does not delay another.
  const other = app.bus.as(principal({ tenant: 'elsewhere', client: 'bob' }));
  const { graphId } = await other.call('graph.define', { nodes: [{ node_id: 'a', task: 'task of bob' }] });
  const executed = other.call('graph.execute', { graphId });
  const foreign = await app.turns.next();
  assert.match(foreign.message, /task of bob$/);
  app.turns.end(foreign);
  assert.equal((await executed).status, 'completed');

  for (let n = 0; n <= QUEUED; n += 1) {
    assert.match(order.message, new RegExp(`task ${n}$`));
    app.turns.end(order);
    if (n < QUEUED) order = await app.turns.next();
    await awaitDepth(app, Math.max(QUEUED - n - 1, 0));
  }
  for (const { status } of await Promise.all(executions)) assert.equal(status, 'completed');
});

test('a run above the limit of live runs is rejected', async () => {
  await using app = await testGraph();
  const { graphId } = await app.bus.call('graph.define', { nodes: [{ node_id: 'a', task: 'Work.' }] });
  const executions: Promise<unknown>[] = [];
  for (let n = 0; n < 100; n += 1) executions.push(app.bus.call('graph.execute', { graphId, idempotencyKey: `run-${n}` }));
  const isLive = async (): Promise<boolean> => (await app.bus.call('graph.runs', { limit: 100 })).runs.length === 100;
  while (!(await isLive())) await sleep(POLL_MS);
  await assert.rejects(app.bus.call('graph.execute', { graphId }), { code: 'RESOURCE_EXHAUSTED', message: /Too many active graphs/ });
  // A repeated call starts no further run.
  executions.push(app.bus.call('graph.execute', { graphId, idempotencyKey: 'run-0' }));
  app.turns.answer(() => 'done');
  for (const order of app.turns.orders.values()) app.turns.end(order);
  await Promise.all(executions);
});

test('a step that a dead replica stored without announcing it is started by its successor', async () => {
  await using app = await testGraph({ settings: { security: { agentToAgent: { graphMaxGlobalSubAgents: 1 } } } });
  const start = async (task: string) => {
    const { graphId } = await app.bus.call('graph.define', { nodes: [{ node_id: 'a', task }] });
    return app.bus.call('graph.execute', { graphId });
  };
  const executions = [start('first')];
  const first = await app.turns.next();
  executions.push(start('second'));
  await awaitDepth(app, 1);

  const store = await app.host.store('graph');
  const { runs, rooms } = await store.open({ runs: runCollection, rooms: roomsCollection });
  for (const { room } of (await rooms.system().find({})).items) await rooms.for({ tenant: 'default' }).remove({ room });
  const { items } = await runs.for({ tenant: 'default' }).find({ status: 'running' });
  const second = items.find(({ definition }) => definition.nodes[0]?.task === 'second') ?? assert.fail('the second run is not stored');
  const dead = { state: 'running', owner: 'dead', attempts: 1, leaseUntil: store.now(), dueAt: store.now() } as const;
  assert.ok(await runs.for({ tenant: 'default' }).update({ runId: second.runId }, { set: dead, inc: { fence: 1 } }));
  await store.close();

  app.turns.end(first);
  app.turns.answer(() => 'done');
  for (const { status } of await Promise.all(executions)) assert.equal(status, 'completed');
});
