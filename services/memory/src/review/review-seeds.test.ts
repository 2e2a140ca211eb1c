import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseSeeds } from './review-seeds.ts';

const NO_LIMITS = { minMessages: 1, maxSessionsPerRun: 100, maxReviewTokens: 10_000 };

/** Memories of these sessions, newest first, with ten tokens each. A dash means no session. */
function memories(sessions: string) {
  return sessions.split('').map((name, at) => ({ content: `${at}`.padEnd(40), ...(name === '-' ? {} : { sessionKey: name }) }));
}

function chosen(sessions: string, limits: Partial<typeof NO_LIMITS>): string {
  const seeds = chooseSeeds(memories(sessions), { ...NO_LIMITS, ...limits });
  return seeds.map(({ content }) => content.trim()).join(' ');
}

test('skips sessions below minMessages and keeps memories without a session', () => {
  assert.equal(chosen('abacc-a', { minMessages: 5 }), '0 2 5 6');
  assert.equal(chosen('abacc-a', { minMessages: 4 }), '0 2 3 4 5 6');
  assert.equal(chosen('ab', { minMessages: 2 }), '0 1');
});

test('takes all memories of the newest maxSessionsPerRun sessions', () => {
  assert.equal(chosen('abca-b', { maxSessionsPerRun: 2 }), '0 1 3 4 5');
});

test('stops at maxReviewTokens and takes at least one memory', () => {
  assert.equal(chosen('aaaa', { maxReviewTokens: 30 }), '0 1 2');
  assert.equal(chosen('aaaa', { maxReviewTokens: 1 }), '0');
  assert.equal(chosen('', {}), '');
});
