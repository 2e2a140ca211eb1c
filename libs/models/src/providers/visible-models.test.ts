import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections, type AgentProjection } from '@switchyard/contracts';
import { createModels, explainHidden, findVisible, visibleNames, type Models } from '../index.ts';

function open(models: object, entries: Record<string, object> = {}): Models {
  const settings = {
    models: sections.models.parse(models),
    providers: sections.providers.parse({ entries }),
    security: sections.security.parse({}),
  };
  return createModels({ settings: () => settings, secret: async () => null, env: {} });
}

function agent(agentId: string, config: Record<string, unknown> = {}): AgentProjection {
  return { agentId, tenant: 'default', suspended: false, isDefault: agentId === 'default', config };
}

const LOCAL = { local: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'small' }, { id: 'large' }] } };

test('visibleNames lists agents and development models without a real provider', async () => {
  const names = await visibleNames(open({}), [agent('oslo', { provider: 'dev', model: 'slow' }), agent('default')]);

  assert.deepEqual(
    names.map(({ id, agentId }) => [id, agentId]),
    [
      ['default', 'default'],
      ['oslo', 'oslo'],
      ['dev/echo', 'default'],
      ['dev/slow', 'oslo'],
      ['dev/scripted', 'default'],
      ['dev/tools', 'default'],
      ['dev/flaky', 'default'],
    ],
  );
});

test('visibleNames lists the models of agents, which findVisible also resolves by bare id', async () => {
  const models = open({}, LOCAL);
  const agents = [
    agent('default'),
    agent('oslo', { provider: 'local', model: 'large' }),
    agent('gone', { provider: 'dev', model: 'echo' }),
  ];

  assert.deepEqual(
    (await visibleNames(models, agents)).map(({ id }) => id),
    ['default', 'oslo', 'local/small', 'local/large'],
  );
  assert.equal((await findVisible(models, agents, 'large'))?.agentId, 'oslo');
  assert.equal(await findVisible(models, agents, 'gone'), undefined);
  assert.equal(await findVisible(models, agents, 'dev/echo'), undefined);
});

test('visibleNames hides only agents that use an unavailable default model', async () => {
  const models = open({ defaultModel: 'nowhere/none' }, LOCAL);

  const names = await visibleNames(models, [agent('default'), agent('oslo', { provider: 'local', model: 'large' })]);
  assert.deepEqual(
    names.map(({ id }) => id),
    ['oslo', 'local/large', 'local/small'],
  );
});

test('visibleNames lists every configured model that an agent may use', async () => {
  const models = open({}, LOCAL);
  const only = agent('only', { provider: 'local', model: 'large', modelFailover: { allowedModels: ['local/large'] } });
  assert.deepEqual(
    (await visibleNames(models, [agent('default')])).map(({ id, agentId }) => [id, agentId]),
    [
      ['default', 'default'],
      ['local/small', 'default'],
      ['local/large', 'default'],
    ],
  );
  assert.equal((await findVisible(models, [agent('default')], 'large'))?.model.modelId, 'large');
  assert.equal(await findVisible(models, [only], 'local/small'), undefined);
});

test('explainHidden names the setting that hides a configured model', async () => {
  const only = agent('only', { modelFailover: { allowedModels: ['local/large'] } });
  assert.equal(
    await explainHidden(open({}, LOCAL), [only], 'local/small'),
    'agents.only.modelFailover.allowedModels does not contain local/small',
  );
  const keyless = open(
    {},
    { lab: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'one' }], apiKeyName: 'LAB_KEY' } },
  );
  assert.match((await explainHidden(keyless, [agent('default')], 'one')) ?? '', /^providers\.entries\.lab is not available\. Set its key/);
  for (const name of ['local/large', 'local/none', 'dev/echo'])
    assert.equal(await explainHidden(open({}, LOCAL), [only], name), undefined, name);
});
