import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildResumeState, type CheckpointEntry } from './checkpoint-log.ts';

const call = (callId: string, name: string) => ({ callId, name, input: {}, text: '{}' });
const content: CheckpointEntry = {
  mark: 'said',
  text: 'Let me see. ',
  calls: [call('1', 'a'), call('2', 'b')],
  input: 3,
  output: 2,
  costUsd: 1,
  begins: '1',
};
const result = (callId: string, begins?: string): CheckpointEntry => ({
  mark: 'result',
  callId,
  result: `of ${callId}`,
  failed: false,
  ...(begins === undefined ? {} : { begins }),
});

test('restores messages, usage and the started call from checkpoints', () => {
  const standing = buildResumeState([content, result('1', '2')]);
  assert.deepEqual(
    standing.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  );
  assert.deepEqual([standing.steps, standing.text, standing.response], [1, 'Let me see. ', 'Let me see. ']);
  assert.deepEqual(standing.spent, { input: 3, output: 2, cacheRead: 0, cacheWrite: 0, costUsd: 1 });
  assert.deepEqual([standing.pendingCalls.map(({ callId }) => callId), standing.startedCallId], [['2'], '2']);
  assert.equal(standing.callCount, 2, 'so that the call that is left has the place that it had');
});

test('a step whose calls all have results leaves no pending call', () => {
  const { pendingCalls, startedCallId } = buildResumeState([content, result('1', '2'), result('2')]);
  assert.deepEqual([pendingCalls, startedCallId], [[], undefined]);
});

test('a duplicated checkpoint would close a call that was never made', () => {
  assert.deepEqual(buildResumeState([content, result('1', '2'), result('1', '2')]).pendingCalls, []);
});
