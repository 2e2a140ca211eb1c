import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseSeeds } from './review-seeds.ts';

const NO_LIMITS = { minMessages: 1, maxSessionsPerRun: 100, maxReviewTokens: 10_000 };

/** Memories of these sessions, the newest first; of a dash, of none. Each is of ten tokens. */
function memories(sessions: string) {
  return sessions.split('').map((name, at) => ({ content: `${at}`.padEnd(40), ...(name === '-' ? {} : { sessionKey: name }) }));
}

function chosen(sessions: string, limits: Partial<typeof NO_LIMITS>): string {
  const seeds = chooseSeeds(memories(sessions), { ...NO_LIMITS, ...limits });
  return seeds.map(({ content }) => content.trim()).join(' ');
}

test('sessions that said less than is asked for are left out, and what was told outside of any is not', () => {
  assert.equal(chosen('abacc-a', { minMessages: 5 }), '0 2 5 6');
  assert.equal(chosen('abacc-a', { minMessages: 4 }), '0 2 3 4 5 6');
  assert.equal(chosen('ab', { minMessages: 2 }), '0 1');
});

test('of more sessions than one review looks at the newest count, with all that is theirs', () => {
  assert.equal(chosen('abca-b', { maxSessionsPerRun: 2 }), '0 1 3 4 5');
});

test('a review ends where its tokens do, and looks at one memory at least', () => {
  assert.equal(chosen('aaaa', { maxReviewTokens: 30 }), '0 1 2');
  assert.equal(chosen('aaaa', { maxReviewTokens: 1 }), '0');
  assert.equal(chosen('', {}), '');
});
