import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stepCollection } from './documents/collections.ts';
import { testGraph } from './graph.fixture.ts';

const POLL_MS = 10;
/** Failed runs after which a step gives up. */
const FAILURES = 20;

for (const stored of [true, false])
  test(`a step whose runs failed too often cancels its turn before it ends, ${stored ? 'with' : 'without'} its stored id`, async () => {
    await using app = await testGraph();
    const { graphId } = await app.bus.call('graph.define', { nodes: [{ node_id: 'a', task: 'Work.', retries: 0 }] });
    const executed = app.bus.call('graph.execute', { graphId });
    const { idempotencyKey: stepId, turnId } = await app.turns.next();

    const store = await app.host.store('graph');
    const { steps } = await store.open({ steps: stepCollection });
    const change = { set: { attempts: FAILURES, dueAt: 1 }, ...(stored ? {} : { unset: ['turnId', 'turnPending'] as const }) };
    const fail = () => steps.for({ tenant: 'default' }).update({ stepId, state: 'parked' }, change);
    while (!(await fail())) await sleep(POLL_MS);

    assert.equal((await executed).status, 'failed');
    assert.ok(app.turns.cancelled.has(turnId), 'the turn runs on');
    const step = await steps.for({ tenant: 'default' }).get(stepId);
    assert.deepEqual([step?.state, step?.error], ['failed', 'the step failed too often; see the log of the graph service']);
    await store.close();
  });
