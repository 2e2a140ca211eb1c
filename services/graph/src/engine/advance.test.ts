import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphDefinition } from '@switchyard/contracts';
import { advance, type Advance, type StepRecord } from './advance.ts';
import { newRunState, noSpent, type RunState } from './run-state.ts';

const pair = {
  nodes: [
    { node_id: 'a', task: 'x' },
    { node_id: 'b', task: 'y', depends_on: ['a'] },
  ],
};
const ended = (end: Partial<NonNullable<StepRecord['end']>>): StepRecord => ({ startedAt: 0, end: { text: '', spent: noSpent(), ...end } });

interface PlayOptions {
  now?: number;
  a?: StepRecord;
  cancelRequested?: boolean;
}

function play(definition: object, state: RunState | undefined, { now = 0, a, cancelRequested = false }: PlayOptions = {}): Advance {
  const graph = GraphDefinition.parse(definition);
  return advance({ graph, state: state ?? newRunState(graph, 0), now, steps: a ? { a: [a] } : {}, cancelRequested, maxRunning: 4 });
}

test('a failed node waits 1, 2 and 4 seconds before its next attempts', () => {
  const graph = { nodes: [{ node_id: 'a', task: 'x', retries: 3 }] };
  let { state } = play(graph, undefined);
  const delays: number[] = [];
  for (let now = 0; delays.length < 3;) {
    const failed = play(graph, state, { now, a: ended({ error: 'lost' }) });
    delays.push(failed.nextAt - now);
    now = failed.nextAt;
    ({ state } = play(graph, failed.state, { now }));
  }
  assert.deepEqual(delays, [1_000, 2_000, 4_000]);
  assert.equal(play(graph, state, { now: 9_000, a: ended({ error: 'lost' }) }).state.status, 'failed');
});

test('a failed attempt with more than 500 characters has completed', () => {
  const { state } = play(pair, undefined);
  const long = play(pair, state, { a: ended({ error: 'lost', text: 'x'.repeat(501) }) });
  assert.deepEqual([long.state.nodes['a']?.status, long.state.nodes['a']?.partial, long.outputs[0]?.text.length], ['completed', true, 501]);
  assert.equal(play(pair, state, { a: ended({ error: 'lost', text: 'x'.repeat(500) }) }).state.nodes['a']?.status, 'ready');
});

test('a cancelled run lets running nodes end and skips the others', () => {
  const { state } = play(pair, undefined);
  const cancelled = play(pair, state, { cancelRequested: true });
  assert.deepEqual(
    Object.values(cancelled.state.nodes).map(({ status }) => status),
    ['running', 'skipped'],
  );
  assert.deepEqual([cancelled.state.status, cancelled.state.cancelReason, cancelled.running.length], ['cancelled', 'manual', 1]);
  const late = play(pair, cancelled.state, { a: ended({ text: 'late' }) });
  assert.deepEqual([late.state.status, late.outputs], ['cancelled', [{ nodeId: 'a', text: 'late' }]]);
});

test('a run whose last node has ended is completed although a cancellation is requested', () => {
  const graph = { nodes: [{ node_id: 'a', task: 'x' }] };
  const { state } = play(graph, undefined);
  assert.equal(play(graph, state, { a: ended({ text: 'done' }), cancelRequested: true }).state.status, 'completed');
});

test('a run over its timeout or its budget stops its nodes', () => {
  for (const [limits, how, reason] of [
    [{ timeoutMs: 1_000 }, { now: 1_000 }, 'timeout'],
    [{ budget: { maxTokens: 10 } }, { a: ended({ text: 'x', spent: { ...noSpent(), tokens: 11 } }) }, 'budget'],
    [{ budget: { maxCost: 0.5 } }, { a: ended({ text: 'x', spent: { ...noSpent(), costUsd: 0.6 } }) }, 'budget'],
  ] as const) {
    const { state } = play({ ...pair, ...limits }, undefined);
    const stopped = play({ ...pair, ...limits }, state, how);
    assert.deepEqual([stopped.state.status, stopped.state.cancelReason, stopped.running.length], ['failed', reason, 0]);
    assert.equal(stopped.state.nodes['b']?.status, 'skipped');
  }
});

test('a node over its timeout fails, counted from the order of its turn', () => {
  const graph = { nodes: [{ node_id: 'a', task: 'x', timeout_ms: 100, retries: 0 }] };
  const { state } = play(graph, undefined);
  assert.equal(play(graph, state, { now: 500 }).state.nodes['a']?.status, 'running');
  assert.match(play(graph, state, { now: 500, a: { startedAt: 400 } }).state.nodes['a']?.error ?? '', /timeout of 100 ms/);
});

test('the time in which an approval gate waits does not count towards the timeout', () => {
  const config = { type_id: 'approval-gate', type_config: {} };
  const graph = {
    timeoutMs: 1_000,
    nodes: [
      { node_id: 'a', task: 'x', ...config },
      { node_id: 'b', task: 'y', depends_on: ['a'] },
    ],
  };
  const { state } = play(graph, undefined);
  const waiting = play(graph, state, { now: 50_000 });
  assert.equal(waiting.state.status, 'running');
  const approved = play(graph, waiting.state, { now: 50_000, a: ended({ text: 'approved' }) });
  assert.deepEqual([approved.state.nodes['b']?.status, approved.state.waitedMs], ['running', 50_000]);
  assert.equal(play(graph, approved.state, { now: 50_900 }).state.status, 'running');
  assert.equal(play(graph, approved.state, { now: 51_000 }).state.cancelReason, 'timeout');
});
