import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphNode } from '@switchyard/contracts';
import type { NodeCommand, StepEnd } from './node-driver.ts';
import { getDriver } from './node-drivers.ts';
import { findVerdict } from './vote-node.ts';

const agents = ['ada', 'grace'];
const typed = (type: string, config: object): GraphNode =>
  GraphNode.parse({ node_id: 'n', task: 'Plan.', type_id: type, type_config: config });
const ok = (text: string): StepEnd => ({ text });
const lost: StepEnd = { text: '', error: 'lost' };

/** Returns the agents of the steps that a command runs. */
function agentsOf(command: NodeCommand): (string | undefined)[] {
  assert.equal(command.kind, 'run');
  return command.kind === 'run' ? command.steps.map(({ agent }) => agent) : [];
}

function next(node: GraphNode, ...ends: (StepEnd | undefined)[]): NodeCommand {
  return getDriver(node).next(node, ends);
}

test('an agent node has the answer of its agent as output', () => {
  const node = typed('agent', { agent: 'ada', max_steps: 3 });
  assert.deepEqual(next(node), { kind: 'run', steps: [{ agent: 'ada', model: undefined, maxSteps: 3, thread: 0 }] });
  assert.deepEqual(next(node, ok('plan')), { kind: 'complete', output: 'plan' });
  assert.deepEqual(next(node, lost), { kind: 'fail', error: 'lost' });
});

test('a debate alternates, shows the contributions so far, and ends with the synthesizer', () => {
  const node = typed('debate', { agents, rounds: 1, synthesizer: 'judge' });
  assert.deepEqual(agentsOf(next(node)), ['ada']);
  const second = next(node, ok('yes'));
  assert.deepEqual(agentsOf(second), agents);
  assert.match(second.kind === 'run' ? (second.steps[1]?.material?.[0]?.text ?? '') : '', /## ada, round 1\n\nyes/);
  assert.deepEqual(agentsOf(next(node, ok('yes'), ok('no'))), [...agents, 'judge']);
  assert.deepEqual(next(node, ok('yes'), ok('no'), ok('maybe')), { kind: 'complete', output: 'maybe' });
  const open = typed('debate', { agents, rounds: 1 });
  assert.deepEqual(next(open, ok('yes'), ok('no')), { kind: 'complete', output: '## ada, round 1\n\nyes\n\n## grace, round 1\n\nno' });
  assert.equal(getDriver(open).getPartialOutput(open, [ok('yes'), undefined]), '## ada, round 1\n\nyes');
});

test('a vote counts the verdicts and needs min_voters', () => {
  const node = typed('vote', { voters: ['ada', 'grace', 'alan'], min_voters: 2 });
  assert.deepEqual(agentsOf(next(node)), ['ada', 'grace', 'alan']);
  assert.equal(next(node, ok('a'), lost).kind, 'run');
  const done = next(node, ok('Fine.\nVERDICT: approve'), lost, ok('**Verdict:** Approve.'));
  assert.match(done.kind === 'complete' ? done.output : '', /^# 2 of 3 voters\n\n- approve: 2\n\n## ada\n\nFine\./);
  assert.equal(next(node, lost, lost).kind, 'fail');
  assert.equal(next(typed('vote', { voters: agents }), ok('a'), lost).kind, 'fail');
  assert.equal(findVerdict('VERDICT: reject\nlater\nVERDICT: approve'), 'approve');
  assert.equal(findVerdict('no line'), 'no verdict');
});

test('refine passes the last text on, and collaborate joins all texts', () => {
  const refine = typed('refine', { reviewers: agents });
  const second = next(refine, ok('draft'));
  assert.deepEqual(second.kind === 'run' && second.steps[1]?.material, [{ title: 'Draft', text: 'draft' }]);
  assert.deepEqual(next(refine, ok('draft'), ok('better')), { kind: 'complete', output: 'better' });
  const collaborate = typed('collaborate', { agents, rounds: 2 });
  assert.deepEqual(agentsOf(next(collaborate, ok('a'), ok('b'))), ['ada', 'grace', 'ada']);
  assert.deepEqual(next(collaborate, ok('a'), ok('b'), ok('c'), ok('d')), { kind: 'complete', output: 'a\n\nb\n\nc\n\nd' });
});

test('map-reduce runs the reducer after all mappers', () => {
  const node = typed('map-reduce', { mappers: [{ agent: 'ada', task_suffix: 'Part 1.' }, { agent: 'grace' }], reducer: 'judge' });
  assert.deepEqual(agentsOf(next(node)), agents);
  assert.deepEqual(agentsOf(next(node, undefined, ok('two'))), agents);
  const reduce = next(node, ok('one'), ok('two'));
  assert.deepEqual(agentsOf(reduce), [...agents, 'judge']);
  assert.deepEqual(reduce.kind === 'run' && reduce.steps[2]?.material?.map(({ text }) => text), ['one', 'two']);
  assert.deepEqual(next(node, ok('one'), ok('two'), ok('sum')), { kind: 'complete', output: 'sum' });
  assert.deepEqual(next(node, lost), { kind: 'fail', error: 'lost' });
});

test('an approval gate asks with its message, and fails when it is denied', () => {
  const node = typed('approval-gate', { message: 'Ship it?', timeout_minutes: 5 });
  assert.deepEqual(next(node), { kind: 'ask', message: 'Ship it?', timeoutMs: 300_000 });
  assert.deepEqual(next(node, ok('approved')), { kind: 'complete', output: 'approved' });
  assert.deepEqual(next(node, { text: '', error: 'denied' }), { kind: 'fail', error: 'denied' });
});
