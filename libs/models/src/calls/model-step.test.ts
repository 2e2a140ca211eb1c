import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamStep, type StepItem } from './model-step.ts';

test('streamStep yields to the event loop during long responses', async () => {
  const piece: StepItem = { type: 'text', text: 'x' };
  const end: StepItem = [{ type: 'finish', reason: 'stop', usage: { input: 1, output: 1 }, costUsd: 0 }];
  let remaining = 1_000;
  let turns = 0;
  const turn = (): void => void ((turns += 1), remaining > 0 && setImmediate(turn));
  setImmediate(turn);
  const step = { first: piece, next: async () => (--remaining > 0 ? piece : end), leave: async () => undefined };

  const told = await streamStep(step, () => true);

  assert.deepEqual(told, { calls: [], reason: 'stop', usage: { input: 1, output: 1 }, costUsd: 0 });
  assert.ok(turns >= 3, `${turns} turns`);
});
