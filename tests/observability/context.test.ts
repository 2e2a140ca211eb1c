import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from '@switchyard/testkit';
import { startObserved, waitUntil } from './observed-sessions.ts';

const KEY = 'default:test:gateway';
const WINDOW = 128_000;
const contextEngine = { freshTailTurns: 1, leafMinFanout: 2, condensedMinFanout: 2, leafChunkTokens: 1_000, leafTargetTokens: 96 };

test('obs.context reports layers, budgets, summaries and what each turn removed', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'They spoke of harbours.' });
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'm', contextWindow: WINDOW }] } };
  await using app = await startObserved({ agent: { provider: 'local', model: 'm', contextEngine }, settings: { providers: { entries } } });
  const { bus } = app;
  for (const message of ['a long harbour '.repeat(100), 'harbour two', 'harbour three'])
    await bus.call('agent.execute', { message, sessionKey: { userId: 'test', channelId: 'gateway' } });
  const { compactionTriggered } = await bus.call('session.compact', { key: KEY });
  assert.equal(compactionTriggered, true);
  await bus.call('agent.execute', { message: 'and now?', sessionKey: { userId: 'test', channelId: 'gateway' } });
  await waitUntil(async () => (await bus.call('obs.context.pipeline', {})).snapshots.length === 4, 'four turns');

  const pipeline = await bus.call('obs.context.pipeline', { agentId: 'default' });
  assert.equal(pipeline.agentId, 'default');
  assert.deepEqual(
    pipeline.layers.map(({ name, enabled }) => [name, enabled]),
    [
      ['history-window', true],
      ['summaries', true],
      ['result-eviction', true],
      ['result-masking', true],
      ['result-pruning', true],
      ['window-guard', true],
    ],
  );
  const { windowTokens, outputReserve, safetyMargin } = pipeline.budgets;
  assert.equal(windowTokens, WINDOW);
  assert.ok(outputReserve > 0 && safetyMargin > 0 && outputReserve + safetyMargin < WINDOW);
  const [newest] = pipeline.snapshots;
  assert.equal(newest?.sessionKey, KEY);
  assert.deepEqual(
    newest?.layers.map(({ name }) => name),
    ['history-window', 'summaries', 'window-guard'],
  );
  assert.ok(newest.tokensCompacted > 100, 'the long message is summarized');
  assert.ok(newest.budgetUtilization > 0 && newest.tokensLoaded > 0);
  assert.equal(newest.layerCount, 3);

  const dag = await bus.call('obs.context.dag', {});
  const { leaf, condensed } = dag.nodeCounts;
  await waitUntil(async () => (await bus.call('obs.context.dag', {})).compactions.length === leaf + condensed, 'all compactions');
  assert.ok(dag.nodeCounts.leaf > 0);
  const { compactions, nodeCounts } = await bus.call('obs.context.dag', { agentId: 'default' });
  assert.deepEqual(nodeCounts, dag.nodeCounts);
  assert.equal(
    compactions.reduce((sum, { leafSummariesCreated }) => sum + leafSummariesCreated, 0),
    nodeCounts.leaf,
  );
  assert.deepEqual(compactions[0]?.sessionKey, KEY);
});

test('obs.context of an unknown agent is empty', async () => {
  await using app = await startObserved({ agent: { model: 'dev/echo' } });
  const pipeline = await app.bus.call('obs.context.pipeline', { agentId: 'nobody' });
  assert.deepEqual([pipeline.layers, pipeline.snapshots, pipeline.budgets.windowTokens], [[], [], 0]);
  const dag = await app.bus.call('obs.context.dag', { agentId: 'nobody' });
  assert.deepEqual([dag.nodeCounts, dag.maxDepth, dag.compactions], [{ leaf: 0, condensed: 0 }, 0, []]);
});
