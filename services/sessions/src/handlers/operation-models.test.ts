import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const priced = (id: string, cost: number) => ({ id, cost: { input: cost, output: cost } });

function getHouse({ url }: Upstream, config: object) {
  const models = [priced('large', 9), priced('middle', 3), priced('small', 1)];
  return testSessions({
    settings: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: url, models } } } },
    agents: { default: config },
  });
}

test('agent.getOperationModels returns the model of each operation and NOT_FOUND for an unknown agent', async () => {
  await using upstream = await startUpstream();
  await using app = await getHouse(upstream, { provider: 'lab', model: 'large', operationModels: { cron: { model: 'dev/echo' } } });
  const { operations, ...promptMessage } = await app.bus.call('agent.getOperationModels', { agentId: 'default' });
  assert.deepEqual(promptMessage, { agentId: 'default', primaryModel: 'large', providerFamily: 'lab', tieringActive: true });
  const rows = operations.map(({ operationType, provider, model, source }) => `${operationType} ${provider}/${model} ${source}`);
  assert.deepEqual(rows, [
    'interactive lab/large config',
    'subagent lab/large default',
    'cron lab/middle default',
    'heartbeat lab/small default',
    'compaction lab/small default',
    'taskExtraction lab/small default',
    'condensation lab/small default',
  ]);
  assert.ok(operations.every(({ apiKeyConfigured, crossProvider }) => apiKeyConfigured && !crossProvider));
  await assert.rejects(app.bus.call('agent.getOperationModels', { agentId: 'gone' }), { code: 'NOT_FOUND' });
});

for (const { says, config, does } of [
  { says: 'a cheap model of the same provider', config: {}, does: 'small' },
  { says: 'the model configured for the operation', config: { operationModels: { compaction: { model: 'lab/middle' } } }, does: 'middle' },
  { says: 'the model configured in the context engine', config: { contextEngine: { compactionModel: 'lab/large' } }, does: 'large' },
]) {
  test(`compaction uses ${says}`, async () => {
    await using upstream = await startUpstream({ kind: 'text', text: 'so' });
    const engine = { freshTailTurns: 1, ...('contextEngine' in config ? config.contextEngine : {}) };
    await using app = await getHouse(upstream, { provider: 'lab', model: 'large', ...config, contextEngine: engine });
    for (const message of ['one', 'two', 'three']) await app.bus.call('agent.execute', { message });
    const { operations } = await app.bus.call('agent.getOperationModels', { agentId: 'default' });
    assert.equal(operations.find(({ operationType }) => operationType === 'compaction')?.model, does);
    await app.bus.call('session.compact', { key: 'default:test:gateway' });
    assert.equal(upstream.requests.at(-1)?.body.model, does);
  });
}

test('an agent without a model uses the model of its default route', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'yes' });
  await using app = await getHouse(upstream, { modelRoutes: { default: 'lab/middle' } });
  await app.bus.call('agent.execute', { message: 'hello' });
  assert.equal(upstream.requests.at(-1)?.body.model, 'middle');
});
