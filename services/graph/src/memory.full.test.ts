// alone: measures memory
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { testGraph } from './graph.fixture.ts';

const GRAPHS = 100;
const MAX_GROWTH_BYTES = 50 * 1_048_576;
/** Four nodes of a run run at once. */
const RUNNING_NODES = 4;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function readMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test(`${GRAPHS} live graphs of 20 nodes use less than 50 MiB`, { timeout: 120_000 }, async (t) => {
  await using app = await testGraph({ settings: { security: { agentToAgent: { graphMaxGlobalSubAgents: GRAPHS * RUNNING_NODES } } } });
  const nodes = Array.from({ length: 20 }, (_, n) => ({
    node_id: `n${n}`,
    task: `Work on part ${n}. ${'Words of a task. '.repeat(50)}`,
    depends_on: n < RUNNING_NODES ? [] : [`n${n - RUNNING_NODES}`],
  }));
  const { graphId } = await app.bus.call('graph.define', { nodes });
  const before = readMemory();
  // The callers wait for their runs, which costs memory too.
  const executions = Array.from({ length: GRAPHS }, (_, n) => app.bus.call('graph.execute', { graphId, idempotencyKey: `run-${n}` }));
  const orders = await Promise.all(Array.from({ length: GRAPHS * RUNNING_NODES }, () => app.turns.next()));
  const growth = readMemory() - before;
  t.diagnostic(`${GRAPHS} live graphs use ${(growth / 1_048_576).toFixed(1)} MiB`);
  assert.ok(growth < MAX_GROWTH_BYTES, `${GRAPHS} live graphs use ${growth} bytes`);
  app.turns.answer(() => 'done');
  for (const order of orders) app.turns.end(order);
  await Promise.all(executions);
});
