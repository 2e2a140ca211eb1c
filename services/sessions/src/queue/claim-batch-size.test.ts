import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClaimBatchSizes } from './claim-batch-size.ts';

/** Begins as many as may be. */
function fill(claims: ReturnType<typeof createClaimBatchSizes>, agent: string): number {
  let startedCount = 0;
  for (; claims.canClaim(agent); startedCount += 1) claims.begin(agent);
  return startedCount;
}

test('doubles concurrent claims up to a limit after each success and returns to one after a miss', () => {
  const claims = createClaimBatchSizes(4);
  assert.equal(fill(claims, 'a'), 1);
  claims.end('a', true);
  assert.equal(fill(claims, 'a'), 2);
  claims.end('a', true);
  claims.end('a', true);
  assert.equal(fill(claims, 'a'), 4);
  for (let n = 0; n < 4; n += 1) claims.end('a', true);
  assert.equal(fill(claims, 'a'), 4);
  claims.end('a', false);
  assert.equal(fill(claims, 'a'), 0, 'three are still under way');
  for (let n = 0; n < 3; n += 1) claims.end('a', false);
  assert.equal(fill(claims, 'a'), 1);
});

test('counts each agent separately', () => {
  const claims = createClaimBatchSizes(4);
  assert.equal(fill(claims, 'a'), 1);
  assert.equal(fill(claims, 'b'), 1);
});
