import assert from 'node:assert/strict';
import { GraphDefinition } from '@switchyard/contracts';
import { isDeepStrictEqual } from 'node:util';
import { advance, type StepRecord } from './advance.ts';
import { interpret } from './reference.fixture.ts';
import { newRunState, noSpent, type RunState } from './run-state.ts';

/** Returns numbers from 0 to 1 that depend on the seed only (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function pick<T>(random: () => number, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!;
}

/** Returns a graph of 1 to 20 nodes with random dependencies, barriers, retries and policy. */
export function createGraph(random: () => number): GraphDefinition {
  const count = 1 + Math.floor(random() * 20);
  const density = random();
  const nodes = Array.from({ length: count }, (_, index) => ({
    node_id: `n${index}`,
    task: 'Work.',
    depends_on: Array.from({ length: index }, (_unused, at) => `n${at}`).filter(() => random() < density),
    barrier_mode: pick(random, ['all', 'majority', 'best-effort']),
    retries: Math.floor(random() * 4),
  }));
  return GraphDefinition.parse({ nodes: nodes.toSorted(() => random() - 0.5), onFailure: pick(random, ['fail-fast', 'continue']) });
}

/**
 * Plays one random graph with random failures, in a random order of ends and with clock steps, and compares the ends of its nodes with the
 * reference interpreter. Also checks the limit, the number of attempts, and that repeating a call without a new end changes nothing.
 */
export function playRandomGraph(seed: number): void {
  const random = createRandom(seed);
  const graph = createGraph(random);
  const maxRunning = 1 + Math.floor(random() * 4);
  const failures = new Map(graph.nodes.map(({ node_id: nodeId }) => [nodeId, Math.floor(random() * random() * 5)]));
  const steps = new Map<string, StepRecord>();
  let state = newRunState(graph, 0);
  let now = 0;
  for (let round = 0; state.status === 'running'; round += 1) {
    assert.ok(round < 1_000, `seed ${seed}: the run does not end`);
    const call = (from: RunState) =>
      advance({ graph, state: from, now, steps: readSteps(from, steps), cancelRequested: false, maxRunning });
    const next = call(state);
    assert.ok(isDeepStrictEqual(call(next.state).state, next.state), `seed ${seed}: a repeated call changes the state`);
    state = next.state;
    const running = Object.values(state.nodes).filter(({ status }) => status === 'running').length;
    assert.ok(running <= maxRunning, `seed ${seed}: ${running} nodes run`);
    if (next.running.length === 0) {
      assert.ok(state.status !== 'running' || next.nextAt > now, `seed ${seed}: the run waits for nothing`);
      now = Math.min(next.nextAt, now + 60_000);
      continue;
    }
    const { nodeId, attempt, step } = pick(random, next.running);
    const isFailure = attempt <= (failures.get(nodeId) ?? 0);
    now += Math.floor(random() * 10);
    const end = { text: isFailure ? '' : 'done', ...(isFailure && { error: 'lost' }), spent: noSpent() };
    steps.set(`${nodeId}/${attempt}/${step}`, { startedAt: now, end });
  }
  const ends = Object.fromEntries(Object.entries(state.nodes).map(([nodeId, { status }]) => [nodeId, status]));
  const retries = new Map(graph.nodes.map((node) => [node.node_id, node.retries ?? 1]));
  const expected = interpret(graph, (nodeId) => (failures.get(nodeId) ?? 0) <= (retries.get(nodeId) ?? 1));
  assert.deepEqual(ends, expected, `seed ${seed}`);
  for (const [nodeId, { attempt, status }] of Object.entries(state.nodes)) {
    const allowed = status === 'skipped' ? 0 : Math.min(failures.get(nodeId) ?? 0, retries.get(nodeId) ?? 1) + 1;
    assert.equal(attempt, allowed, `seed ${seed}: attempts of ${nodeId}`);
  }
  const required = new Set(graph.nodes.flatMap((node) => node.depends_on));
  const isWhole = Object.entries(ends).every(([nodeId, status]) => required.has(nodeId) || status === 'completed');
  assert.equal(state.status, isWhole ? 'completed' : 'failed', `seed ${seed}`);
}

function readSteps({ nodes }: RunState, steps: ReadonlyMap<string, StepRecord>): Record<string, (StepRecord | undefined)[]> {
  const records = Object.entries(nodes).map(([nodeId, node]) => [
    nodeId,
    Array.from({ length: node.steps }, (_, step) => steps.get(`${nodeId}/${node.attempt}/${step}`)),
  ]);
  return Object.fromEntries(records) as Record<string, (StepRecord | undefined)[]>;
}
