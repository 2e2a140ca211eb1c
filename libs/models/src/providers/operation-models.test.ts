import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import { open } from '../models.fixture.ts';
import { AGENT_OPERATIONS, operationModel, type AgentOperation } from './operation-models.ts';

const priced = (id: string, cost: number) => ({ id, cost: { input: cost, output: cost } });
const entries = {
  lab: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9', models: [8, 1, 2, 4, 3].map((cost) => priced(`m${cost}`, cost)) },
  free: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9', models: [{ id: 'one' }, { id: 'two' }] },
};

async function chosen(config: object, model = 'lab/m8'): Promise<Record<string, string>> {
  const models = open({ entries, models: { aliases: [{ alias: 'quick', provider: 'free', modelId: 'two' }] } });
  const [provider = '', modelId = ''] = model.split('/');
  const of = { primary: { provider, modelId }, config: AgentConfig.parse(config) };
  const row = async (operation: AgentOperation): Promise<[string, string]> => {
    const { model: found, source, tieringActive, timeoutMs } = await operationModel(models, of, operation);
    return [operation, `${found.provider}/${found.modelId} ${source} ${tieringActive ? 'tiered' : 'own'} ${timeoutMs}`];
  };
  return Object.fromEntries(await Promise.all(AGENT_OPERATIONS.map(row)));
}

test('operationModel selects the primary, a mid-priced or a cheap model by operation', async () => {
  assert.deepEqual(await chosen({ model: 'm8' }), {
    interactive: 'lab/m8 config own 180000',
    subagent: 'lab/m8 default own 120000',
    cron: 'lab/m3 default tiered 150000',
    heartbeat: 'lab/m1 default tiered 60000',
    compaction: 'lab/m1 default tiered 60000',
    taskExtraction: 'lab/m1 default tiered 30000',
    condensation: 'lab/m1 default tiered 30000',
  });
});

test('operationModel uses the configured model while it is available', async () => {
  const operationModels = { compaction: { model: 'quick', timeout: 5 }, heartbeat: { model: 'gone' }, cron: { timeout: 7 } };
  const { compaction, heartbeat, cron } = await chosen({ operationModels });
  assert.deepEqual([compaction, heartbeat], ['free/two config own 5', 'lab/m1 default tiered 60000']);
  assert.equal(cron, 'lab/m3 default tiered 7');
});

test('operationModel falls back to the primary for prices above it, disallowed models and unknown prices', async () => {
  assert.equal((await chosen({}, 'lab/m2'))['cron'], 'lab/m2 default own 150000');
  assert.equal((await chosen({ modelFailover: { allowedModels: ['m8', 'lab/m4'] } }))['compaction'], 'lab/m4 default tiered 60000');
  assert.equal((await chosen({}, 'free/one'))['compaction'], 'free/one default own 60000');
});
