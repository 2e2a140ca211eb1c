import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { createModels, resolveAgentModel, type Models } from '../index.ts';

const OLLAMA = { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1', models: [{ id: 'qwen3:8b' }, { id: 'org/model' }] };

interface Setup {
  models?: object;
  entries?: Record<string, object>;
  secrets?: Record<string, string>;
  env?: Record<string, string>;
}

function open({ models = {}, entries = {}, secrets = {}, env = {} }: Setup = {}): Models {
  const settings = {
    models: sections.models.parse(models),
    providers: sections.providers.parse({ entries }),
    security: sections.security.parse({}),
  };
  return createModels({ settings: () => settings, secret: async (name) => secrets[name] ?? null, env });
}

test('offers only development models without a key', async () => {
  const models = open();
  assert.deepEqual(await models.providers(), ['dev']);
  assert.deepEqual(await models.fallback(), { provider: 'dev', modelId: 'echo' });
  assert.deepEqual(await models.find('dev/tools'), { provider: 'dev', modelId: 'tools' });
  assert.deepEqual(await models.find('slow'), { provider: 'dev', modelId: 'slow' });
  assert.equal(await models.find('dev/gpt-5'), undefined);
  assert.equal(await models.find('openai/gpt-5'), undefined);
  assert.equal(await models.find('gpt-5'), undefined);
});

test('enables a provider by its key and disables development models', async () => {
  for (const models of [open({ secrets: { OPENAI_API_KEY: 'k' } }), open({ env: { OPENAI_API_KEY: 'k' } })]) {
    assert.deepEqual(await models.providers(), ['openai']);
    assert.equal((await models.fallback()).provider, 'openai');
    assert.deepEqual(await models.find('gpt-5'), { provider: 'openai', modelId: 'gpt-5' });
    assert.deepEqual(await models.find('openai/not-yet-listed'), { provider: 'openai', modelId: 'not-yet-listed' });
    assert.equal(await models.find('dev/echo'), undefined);
    assert.equal(await models.find('openai/'), undefined);
  }
});

test('keeps development models with models.dev: true', async () => {
  const models = open({ models: { dev: true }, secrets: { ANTHROPIC_API_KEY: 'k' } });
  assert.deepEqual(await models.providers(), ['anthropic', 'dev']);
  assert.equal((await models.fallback()).provider, 'anthropic');
  assert.deepEqual(await models.find('dev/echo'), { provider: 'dev', modelId: 'echo' });
});

test('needs no key for a configured address', async () => {
  const models = open({ entries: { ollama: OLLAMA } });
  assert.deepEqual(await models.providers(), ['ollama']);
  assert.deepEqual(await models.fallback(), { provider: 'ollama', modelId: 'qwen3:8b' });
  assert.deepEqual(await models.find('ollama/qwen3:8b'), { provider: 'ollama', modelId: 'qwen3:8b' });
  assert.deepEqual(await models.find('org/model'), { provider: 'ollama', modelId: 'org/model' });
  assert.deepEqual(await open({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' } }).providers(), ['openai']);
});

test('excludes disabled providers and those without their key', async () => {
  const models = open({ entries: { off: { ...OLLAMA, enabled: false }, locked: { ...OLLAMA, apiKeyName: 'NOT_SET' } } });
  assert.deepEqual(await models.providers(), ['dev']);
  assert.equal(await models.find('locked/qwen3:8b'), undefined);
});

test('resolves an alias while its provider is available', async () => {
  const aliases = [{ alias: 'fast', provider: 'ollama', modelId: 'qwen3:8b' }];
  assert.deepEqual(await open({ models: { aliases }, entries: { ollama: OLLAMA } }).find('fast'), {
    provider: 'ollama',
    modelId: 'qwen3:8b',
  });
  assert.equal(await open({ models: { aliases } }).find('fast'), undefined);
});

test('throws if the configured default model is not available', async () => {
  const entries = { ollama: OLLAMA };
  const named = open({ models: { defaultProvider: 'ollama', defaultModel: 'org/model' }, entries });
  assert.deepEqual(await named.fallback(), { provider: 'ollama', modelId: 'org/model' });

  const missing = { code: 'FAILED_PRECONDITION', details: { reason: 'DEFAULT_MODEL_NOT_FOUND' } };
  await assert.rejects(open({ models: { defaultModel: 'gpt-5' } }).fallback(), missing);
  await assert.rejects(open({ models: { defaultProvider: 'openai' }, entries }).fallback(), missing);

  const mute = open({ entries: { ollama: { ...OLLAMA, models: [] } } });
  await assert.rejects(mute.fallback(), { code: 'FAILED_PRECONDITION', details: { reason: 'NO_DEFAULT_MODEL' } });
});

test('resolveAgentModel resolves provider and model, or returns undefined', async () => {
  const models = open({ models: { dev: true }, entries: { ollama: OLLAMA } });
  const means = (provider: string, model: string) => resolveAgentModel(models, { provider, model });
  assert.deepEqual(await means('default', 'default'), { provider: 'ollama', modelId: 'qwen3:8b' });
  assert.deepEqual(await means('dev', 'default'), { provider: 'dev', modelId: 'echo' });
  assert.deepEqual(await means('ollama', 'org/model'), { provider: 'ollama', modelId: 'org/model' });
  assert.deepEqual(await means('default', 'org/model'), { provider: 'ollama', modelId: 'org/model' });
  assert.equal(await means('openai', 'default'), undefined);
  assert.equal(await means('openai', 'gpt-5'), undefined);
  assert.equal(await means('default', 'gpt-5'), undefined);
});

test('merges published models with configured ones', async () => {
  const openai = { type: 'openai', models: [{ id: 'gpt-5', name: 'Ours', cost: { input: 9 } }] };
  const models = open({ entries: { openai, ollama: OLLAMA } });

  const listed = await models.catalogue('openai');
  assert.deepEqual(listed[0]?.cost, { input: 9, output: 10, cacheRead: 0.125, cacheWrite: 0 });
  assert.equal(listed[0]?.displayName, 'Ours');
  assert.equal(listed[0]?.contextWindow, 400_000);
  assert.equal(new Set(listed.map(({ modelId }) => modelId)).size, listed.length);
  assert.deepEqual(
    (await models.catalogue('ollama')).map(({ modelId }) => modelId),
    ['qwen3:8b', 'org/model'],
  );
  assert.deepEqual(await models.catalogue('nobody'), []);
});

test('caches keys across calls', async () => {
  let requestCount = 0;
  const settings = {
    models: sections.models.parse({}),
    providers: sections.providers.parse({ entries: { up: { ...OLLAMA, apiKeyName: 'UP_KEY' } } }),
    security: sections.security.parse({}),
  };
  const secret = async (name: string): Promise<string | null> => {
    if (name === 'UP_KEY') requestCount += 1;
    return 'k';
  };
  const models = createModels({ settings: () => settings, secret, env: {} });

  await models.providers();
  await models.fallback();
  assert.equal(requestCount, 1);
});
