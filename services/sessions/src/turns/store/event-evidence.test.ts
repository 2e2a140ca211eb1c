import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnEvidence } from '@switchyard/contracts';
import { readEvidence } from './event-evidence.ts';

function buildEvidence(steps: number, tools: number): TurnEvidence {
  const tool = { name: 'web_fetch', args: '9f2c1e7ab04d', ms: 12, chars: 20, result: '9f2c1e7ab04d' };
  return {
    steps: Array.from({ length: steps }, (_, at) => ({
      step: at + 1,
      ms: 10,
      chars: 5,
      tools: Array.from({ length: tools }, (_none, n) => ({ ...tool, failed: n === 0 })),
    })),
  };
}

test('keeps small evidence unchanged', () => {
  const evidence = buildEvidence(3, 2);
  assert.deepEqual(readEvidence(JSON.stringify(evidence)), evidence);
});

test('drops successful calls before steps and counts both', () => {
  const bounded = readEvidence(JSON.stringify(buildEvidence(60, 16)));
  TurnEvidence.parse(bounded);
  assert.ok(JSON.stringify(bounded).length <= 16_384 + 100);
  assert.equal(bounded.steps.length + (bounded.dropped ?? 0), 60);
  assert.deepEqual([bounded.steps[0]?.step, bounded.steps.at(-1)?.step], [1, 60]);
  assert.deepEqual([bounded.steps[0]?.tools?.length, bounded.steps[0]?.moreTools], [1, 15]);
});
