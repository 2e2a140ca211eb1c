import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { createModels, type ModelRequest } from '@switchyard/models';
import { startUpstream } from '@switchyard/testkit';
import { accessModels } from './model-access.ts';

test('passes the agent’s model settings to the upstream, streaming or not', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'yes', usage: { prompt: 1, completion: 1 } });
  const local = { type: 'openai', baseUrl: upstream.url, models: [{ id: 'm', reasoning: true }] };
  const settings = {
    models: sections.models.parse({}),
    providers: sections.providers.parse({ entries: { local } }),
    security: sections.security.parse({}),
  };
  const models = createModels({ settings: () => settings, secret: async () => null, env: {} });
  const { thinker } = sections.agents.parse({ thinker: { thinkingLevel: 'xhigh', fastMode: true, storeCompletions: true } });
  const config = thinker ?? assert.fail();
  const asking = accessModels(
    { models },
    { tenant: 'house' },
    { agentId: 'thinker', tenant: 'house', suspended: false, isDefault: true, config },
  );
  const request: ModelRequest = {
    model: { provider: 'local', modelId: 'm' },
    messages: [{ role: 'user', text: 'hi' }],
    signal: new AbortController().signal,
    promptTimeoutMs: 5_000,
  };

  await asking.complete(request);
  await asking.streamTo(request, () => true);

  for (const { body } of upstream.requests) {
    const { reasoning_effort, service_tier, store } = body as Record<string, unknown>;
    assert.deepEqual({ reasoning_effort, service_tier, store }, { reasoning_effort: 'xhigh', service_tier: 'priority', store: true });
  }
  assert.equal(upstream.requests.length, 2);
});
