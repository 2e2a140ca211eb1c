import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { openHost } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { openNats, principal, startProcess, tempDir } from '@switchyard/testkit';
import { failure, serveCollaborators, type OrderedTurns } from './graph.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const GRAPHS = 100;
const ROUNDS = 2;
const LAYERS = 5;
const WIDTH = 4;
const KILL_INTERVAL_MS = 5_000;
/** Steps of a killed process wait for its leases to expire, so a round with kills until its end may not end on a busy machine. */
const MAX_KILLS = 3;
const MAX_TURN_MS = 400;
const MAX_ROUND_MS = 150_000;
const POLL_MS = 250;

/** Twenty nodes in layers. Each node depends on two nodes of the layer above. */
const NODES = Array.from({ length: LAYERS * WIDTH }, (_, n) => {
  const above = (Math.floor(n / WIDTH) - 1) * WIDTH;
  const dependsOn = n < WIDTH ? [] : [above + (n % WIDTH), above + ((n + 1) % WIDTH)].map((source) => `n${source}`);
  return { node_id: `n${n}`, task: 'Work.', depends_on: dependsOn };
});
/** Nodes whose first attempt fails. */
const FAILING = new Set(['n3', 'n10']);

/** Lets each turn end after a random time, also while the graph service is dead. */
async function endTurns(turns: OrderedTurns, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const order = await turns.next();
    const [, nodeId = '', attempt] = order.idempotencyKey.split('/');
    const end = FAILING.has(nodeId) && attempt === '1' ? failure('the model failed') : `output of ${order.idempotencyKey}`;
    setTimeout(() => turns.end(order, end), Math.random() * MAX_TURN_MS).unref();
  }
}

/** Returns undefined while the service is dead, which the caller learns as a retryable error. */
function orUndefined(error: unknown): undefined {
  if (!(error instanceof ServiceError) || !error.retryable) throw error;
}

test(`${GRAPHS} graphs end with one turn per attempt although their process is killed`, { timeout: 360_000, skip: NATS_OFF }, async (t) => {
  const nats = await openNats();
  t.after(() => nats.stop());
  await using data = await tempDir();
  const env = { SWITCHYARD_BUS: nats.url, SWITCHYARD_CONFIG: ':' };
  await using host = await openHost({ env: { ...env, SWITCHYARD_DATA: join(data.path, 'test') }, log: silentLogger() });
  const turns = await serveCollaborators(host);
  const stop = new AbortController();
  t.after(() => stop.abort());
  void endTurns(turns, stop.signal);
  const bus = (await host.connect('gateway')).as(principal());
  const start = () =>
    startProcess([process.execPath, join(import.meta.dirname, 'main.ts')], {
      env: { ...env, SWITCHYARD_DATA: join(data.path, 'graph'), SWITCHYARD_SECURITY__AGENT_TO_AGENT__GRAPH_MAX_GLOBAL_SUB_AGENTS: '64' },
      ready: /"msg":"serving"/,
      timeoutMs: 60_000,
    });
  let replica = await start();
  t.after(() => replica.end('SIGKILL'));
  const { graphId } = await bus.call('graph.define', { nodes: NODES });

  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    let [kills, live] = [0, GRAPHS];
    // The key makes a repetition of a call return the same run.
    const executions = Array.from({ length: GRAPHS }, async (_, n) => {
      for (;;) {
        stop.signal.throwIfAborted();
        const result = await bus.call('graph.execute', { graphId, idempotencyKey: `${round}/${n}` }).catch(orUndefined);
        if (result && result.status !== 'running') return result;
        await sleep(POLL_MS);
      }
    });
    const ended = Promise.all(executions.map((execution) => execution.finally(() => (live -= 1))));
    while (live > 0) {
      const left = await Promise.race([ended.then(() => 0), sleep(KILL_INTERVAL_MS).then(() => live)]);
      assert.ok(performance.now() - startedAt < MAX_ROUND_MS, `${left} runs have not ended after ${kills} kills`);
      if (left === 0) break;
      if (kills === MAX_KILLS) continue;
      await replica.end('SIGKILL');
      kills += 1;
      replica = await start();
    }
    const results = await ended;
    t.diagnostic(`round ${round + 1}: ${(performance.now() - startedAt).toFixed()} ms, ${kills} kills`);
    assert.ok(kills > 0, 'the process was not killed');
    for (const { runId, status, outputs } of results) {
      assert.equal(status, 'completed', runId);
      for (const { node_id: nodeId } of NODES)
        assert.equal(outputs[nodeId], `output of ${runId}/${nodeId}/${FAILING.has(nodeId) ? 2 : 1}/0`);
    }
    assert.equal(new Set(results.map(({ runId }) => runId)).size, GRAPHS);
  }
  const attempts = ROUNDS * GRAPHS * (NODES.length + FAILING.size);
  assert.equal(turns.orders.size, attempts);
});
