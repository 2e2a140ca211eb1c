import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { toFailure } from '../turns/store/turn-failure.ts';
import type { TurnDocument } from './turn-document.ts';
import { buildResumeState, countCheckpointChars, loadCheckpoints, storeCheckpoint, type CheckpointEntry } from './checkpoint-log.ts';
import { loadRemainingTools } from './remaining-tools.ts';
import type { Bodies } from './stored-text.ts';

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

const skill = (...allowedTools: string[]): CheckpointEntry => ({ mark: 'skill', name: 'a', instructions: 'Do it.', allowedTools });

test('restores the invoked skill and the lists of all used skills, each once', () => {
  const used = (...allowedTools: string[]): CheckpointEntry => ({ mark: 'result', callId: '1', result: '', failed: false, allowedTools });
  const { skill: invoked, skillLimits, steps } = buildResumeState([skill('read', 'write'), content, used('read'), used('read', 'write')]);
  assert.deepEqual(invoked, { name: 'a', instructions: 'Do it.', allowedTools: ['read', 'write'] });
  assert.deepEqual(skillLimits, [['read', 'write'], ['read']]);
  assert.equal(steps, 1);
});

test('a long skill is stored apart and does not count as a step of the model', async () => {
  const stored = new Map<string, { id: string; text: string }>();
  const bodies = {
    insert: async (one: { id: string; text: string }) => void stored.set(one.id, one),
    find: async ({ id }: { id: { in: string[] } }) => ({ items: id.in.flatMap((one) => stored.get(one) ?? []) }),
  } as unknown as Bodies;
  const mark: CheckpointEntry = { mark: 'skill', name: 'a', instructions: 'x'.repeat(10_000), allowedTools: ['read'] };
  const step = await storeCheckpoint(bodies, 'turn_a', mark);
  assert.ok(JSON.stringify(step).length < 512);
  assert.ok(countCheckpointChars([step]) >= 10_000);
  assert.deepEqual(await loadCheckpoints(bodies, 'turn_a', [step]), [mark]);
  const turn = { turnId: 'turn_a', steps: [step], tools: { deny: ['exec'] } } as unknown as TurnDocument;
  assert.deepEqual(await loadRemainingTools(bodies, turn), { deny: ['exec'], within: [['read']] });
  const fault = new ServiceError('UNAVAILABLE', 'away', { details: {} });
  assert.equal(toFailure(fault, turn).details?.['retryable'], undefined);
  assert.equal(toFailure(fault, { ...turn, steps: [step, content] }).details?.['retryable'], false);
});
