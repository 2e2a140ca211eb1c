import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNREAD_SETTINGS } from './burn-down.ts';
import { isServed, methodsOf, ownerOf, remainingSettings, SETTING_OWNERS } from './owners.ts';

/** It only becomes less: whoever declares a setting that nothing reads says whose it is, or has it read. */
const MOST_REMAINING = 11;

test('whose a setting is says the nearest part that somebody has, and a section says it for all of itself', () => {
  assert.deepEqual(
    ['agents.oslo.maxSteps', 'agents.oslo.skills.watchEnabled', 'agents.oslo.skillset', 'memory', 'approvals.rules', 'no.such'].map(
      ownerOf,
    ),
    ['sessions', 'tools', 'sessions', 'memory', 'sessions/admin.approval', undefined],
  );
});

test('a part that waits for a service is its own, and what is beside it is not', () => {
  const paths = ['agents.oslo.backgroundTasks.maxTotal', 'queue.laneAssignment.scheduledLane', 'queue.laneAssignment.followupLane'];
  assert.deepEqual(paths.map(ownerOf), ['tools', 'scheduler', 'sessions']);
});

test('an owner is a service, or the methods that come to it, and is there when it answers one of them', () => {
  for (const [path, owner] of Object.entries(SETTING_OWNERS))
    assert.ok(methodsOf(owner).length > 0, `${path} is for ${owner}, which has no method`);
  assert.deepEqual(
    [isServed('sessions'), isServed('sessions/session'), isServed('sessions/subagent'), isServed('browser')],
    [true, true, false, false],
  );
});

test('what nothing reads waits for somebody who is not there yet; the rest is named, and becomes less', () => {
  const remaining = new Set(remainingSettings());
  for (const path of UNREAD_SETTINGS) {
    const owner = ownerOf(path) ?? assert.fail(`nobody has ${path}`);
    assert.equal(remaining.has(path), isServed(owner), `${path} of ${owner}`);
  }
  assert.ok(UNREAD_SETTINGS.length - remaining.size > 40 && remaining.size > 0);
  assert.ok(remaining.size <= MOST_REMAINING, `nothing reads, although its owner is there: ${[...remaining].join(' ')}`);
});
