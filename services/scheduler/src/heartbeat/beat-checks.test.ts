import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { checkSystem, type BeatCheckDeps } from './beat-checks.ts';
import { newBeat } from './beat-sync.ts';

const checked = (...keys: string[]): Pick<BeatCheckDeps, 'runChecks'> => ({
  runChecks: () => Promise.resolve({ checksRun: 3, alerts: keys.map((key) => ({ key, text: `${key} is full` })) }),
});

function createDeps(checks: Pick<BeatCheckDeps, 'runChecks'>): BeatCheckDeps {
  return { ...checks, monitoring: () => sections.monitoring.parse({}), ownTenant: () => 'default', now: () => 7 };
}

test('an alert is news at the first beat that has it, and again after it was gone', async () => {
  let beat = newBeat('default', 0);
  const news: boolean[] = [];
  for (const keys of [['disk'], ['disk'], ['disk', 'cpu'], [], ['disk']]) {
    const { hasNews, set, alerts } = await checkSystem(createDeps(checked(...keys)), 'default', beat);
    assert.deepEqual(
      alerts,
      keys.map((key) => `${key} is full`),
    );
    news.push(hasNews);
    beat = { ...beat, ...set };
  }
  assert.deepEqual(news, [true, false, true, false, true]);
});

test('each tick with checks emits one event', async () => {
  const { emit } = await checkSystem(createDeps(checked('disk', 'cpu')), 'default', newBeat('default', 0));
  assert.deepEqual(emit, [{ name: 'scheduler:heartbeat_check', payload: { checksRun: 3, alertsRaised: 2, timestamp: 7 } }]);
  const none = await checkSystem(createDeps({ runChecks: () => Promise.resolve(undefined) }), 'default', newBeat('default', 0));
  assert.deepEqual([none.emit, none.alerts], [[], []]);
});

test('other tenants learn nothing about the machine', async () => {
  const { emit, alerts } = await checkSystem(createDeps(checked('disk')), 'elsewhere', newBeat('default', 0));
  assert.deepEqual([emit, alerts], [[], []]);
});
