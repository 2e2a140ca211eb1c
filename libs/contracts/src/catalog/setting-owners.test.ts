import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { isServed, listMethods, resolveOwner, remainingSettings, SETTING_OWNERS } from './setting-owners.ts';

test('resolveOwner returns the owner of the longest prefix, down to the section', () => {
  assert.deepEqual(
    ['agents.oslo.maxSteps', 'agents.oslo.skills.watchEnabled', 'agents.oslo.skillset', 'memory', 'approvals.rules', 'no.such'].map(
      resolveOwner,
    ),
    ['sessions/agent', 'tools/skills', 'sessions/agent', 'memory', 'sessions/admin.approval', undefined],
  );
});

test('a part that waits for a service is its own, and what is beside it is not', () => {
  const paths = ['agents.oslo.backgroundTasks.maxTotal', 'queue.laneAssignment.scheduledLane', 'queue.laneAssignment.followupLane'];
  assert.deepEqual(paths.map(resolveOwner), ['tools', 'scheduler', 'sessions/agent']);
});

test('an owner is a service or a namespace with methods, and is served when all of them are', () => {
  for (const [path, owner] of Object.entries(SETTING_OWNERS))
    assert.ok(listMethods(owner).length > 0, `${path} is for ${owner}, which has no method`);
  assert.deepEqual(
    [isServed('sessions'), isServed('sessions/agent'), isServed('sessions/subagent'), isServed('registry'), isServed('channels')],
    [true, true, true, true, false],
  );
});

test('settings without a reader belong to unbuilt services', () => {
  for (const path of UNREAD_SETTINGS) assert.ok(resolveOwner(path), `nobody has ${path}`);
  assert.ok(UNREAD_SETTINGS.length > 40);
  assert.deepEqual(remainingSettings(), [], 'nothing reads these, although their owner is there');
});

test('one method of a service demands no setting, a whole namespace demands its own settings only', () => {
  const serving = (served: (name: string) => boolean) => remainingSettings((name) => !served(name));
  const existing = serving(() => false);
  assert.deepEqual(
    serving((name) => name === 'channels.list'),
    existing,
  );
  const channels = serving((name) => name.startsWith('channels.'));
  assert.ok(channels.includes('channels') && !channels.includes('streaming') && !channels.includes('deliveryQueue'), channels.join());
  const messages = serving((name) => name.startsWith('message.'));
  assert.ok(messages.includes('streaming') && !messages.includes('deliveryQueue'), messages.join());
});
