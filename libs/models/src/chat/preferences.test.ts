import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { startUpstream } from '@switchyard/testkit';
import type { ModelRequest, ModelPreferences } from '../index.ts';
import { against, request, run } from '../models.fixture.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { createDialects } from './dialect.ts';
import { buildRequestBody } from './request-body.ts';

const OPENAI = 'api.openai.com';

interface Told {
  entry?: object;
  host?: string;
  request?: Partial<ModelRequest>;
}

/** Renders a request body and parses it. */
function told({ entry = {}, host = '127.0.0.1', request: asked = {} }: Told): Record<string, unknown> {
  const { entries } = sections.providers.parse({
    entries: { local: { type: 'openai-compatible', baseUrl: `https://${host}/v1`, ...entry } },
  });
  const settings = providerSettings({ entries }, { env: {}, hosts: [] }).get('local') ?? assert.fail();
  const full = request(asked);
  return JSON.parse(
    String(buildRequestBody({ request: full, nonStreaming: false }, createDialects(settings, host)(full.model.modelId))),
  ) as Record<string, unknown>;
}

const wishing = (preferences: ModelPreferences, modelId = 'small'): Partial<ModelRequest> => ({
  preferences: preferences,
  model: { provider: 'local', modelId },
});
const model = (rest: object) => ({ models: [{ id: 'small', ...rest }] });

describe('preferences of an agent', () => {
  test('sends the reasoning effort to reasoning models only', () => {
    for (const [thinkingLevel, effort] of [
      ['high', 'high'],
      ['minimal', 'minimal'],
      ['off', 'none'],
    ] as const) {
      assert.equal(told({ entry: model({ reasoning: true }), request: wishing({ thinkingLevel }) })['reasoning_effort'], effort);
    }
    assert.ok(!('reasoning_effort' in told({ entry: model({}), request: wishing({ thinkingLevel: 'high' }) })));
    assert.ok(!('reasoning_effort' in told({ entry: model({ reasoning: true }), request: wishing({}) })), 'nothing is wished');
    const never = {
      entry: model({ reasoning: true, sdkCompat: { supportsReasoningEffort: false } }),
      asked: wishing({ thinkingLevel: 'high' }),
    };
    assert.ok(!('reasoning_effort' in told(never)));
  });

  test('sends priority and storage only to the matching provider family', () => {
    const asked = wishing({ fastMode: true, storeCompletions: true });
    const own = told({ entry: { type: 'openai' }, request: asked });
    assert.deepEqual([own['service_tier'], own['store']], ['priority', true]);
    const named = told({ entry: { capabilities: { providerFamily: 'openai' } }, request: asked });
    assert.deepEqual([named['service_tier'], named['store']], ['priority', true]);
    const other = told({ request: asked });
    assert.deepEqual([other['service_tier'], other['store']], [undefined, undefined]);
    assert.equal(
      told({ entry: { type: 'openai', ...model({ sdkCompat: { supportsStore: false } }) }, request: asked })['store'],
      undefined,
    );
    const quiet = told({ entry: { type: 'openai' }, request: wishing({ fastMode: false, storeCompletions: false }) });
    assert.deepEqual([quiet['service_tier'], quiet['store']], [undefined, undefined]);
  });

  test('sends the cache retention of the agent or model, if supported', () => {
    const kept = (preferences: ModelPreferences, modelId = 'gpt-5') =>
      told({ entry: { type: 'openai' }, host: OPENAI, request: wishing(preferences, modelId) })['prompt_cache_retention'];
    assert.deepEqual(
      [kept({ cacheRetention: 'long' }), kept({ cacheRetention: 'short' }), kept({ cacheRetention: 'none' })],
      ['24h', 'in_memory', undefined],
    );
    assert.equal(kept({ cacheRetention: 'long', cacheRetentionOverrides: { 'gpt-5': 'short' } }), 'in_memory');
    assert.equal(kept({ cacheRetention: 'none', cacheRetentionOverrides: { 'local/gpt-5': 'long', 'gpt-5': 'short' } }), '24h');
    assert.equal(kept({ cacheRetention: 'long' }, 'gpt-4o-mini'), undefined);
    assert.equal(
      told({ request: wishing({ cacheRetention: 'long' }, 'gpt-5') })['prompt_cache_retention'],
      undefined,
      'a proxy may refuse it',
    );
  });

  test('uses the retention values that a model accepts', () => {
    const kept = (cacheRetention: 'short' | 'long', modelId: string, sdkCompat?: Record<string, unknown>) =>
      told({
        entry: { type: 'openai', ...(sdkCompat === undefined ? {} : model({ sdkCompat })) },
        host: OPENAI,
        request: wishing({ cacheRetention }, modelId),
      })['prompt_cache_retention'];
    assert.deepEqual([kept('short', 'gpt-5.4'), kept('long', 'gpt-5.4')], ['in_memory', '24h']);
    assert.deepEqual([kept('short', 'gpt-5.5'), kept('long', 'gpt-5.5')], [undefined, '24h'], 'it refuses in_memory');
    for (const modelId of ['gpt-5.6', 'gpt-5.3', 'gpt-5-chat-latest', 'gpt-4.1-codex', 'gpt-5-mini']) {
      assert.deepEqual([kept('short', modelId), kept('long', modelId)], [undefined, undefined], modelId);
    }
    const told24h = { supportsLongCacheRetention: true };
    assert.deepEqual(
      [kept('short', 'small', told24h), kept('long', 'small', told24h), kept('long', 'small')],
      ['in_memory', '24h', undefined],
    );
  });

  test('configuration does not enable a retention value that a model rejects', () => {
    const kept = (cacheRetention: 'short' | 'long', supportsLongCacheRetention: boolean) =>
      told({
        entry: { type: 'openai', models: [{ id: 'gpt-5.5', sdkCompat: { supportsLongCacheRetention } }] },
        host: OPENAI,
        request: wishing({ cacheRetention }, 'gpt-5.5'),
      })['prompt_cache_retention'];
    assert.deepEqual([kept('short', true), kept('long', true), kept('long', false)], [undefined, '24h', undefined]);
  });
});

describe('cache marks', () => {
  const entry = model({ sdkCompat: { cacheControlFormat: 'anthropic' } });
  const talk: ModelRequest['messages'] = [
    { role: 'user', text: 'one' },
    { role: 'assistant', text: 'two' },
    { role: 'user', text: 'three' },
    { role: 'assistant', text: 'four' },
    { role: 'user', text: 'five' },
  ];
  function marks(preferences: ModelPreferences, messages = talk): unknown[] {
    const body = told({ entry, request: { system: 'be kind', messages, preferences: preferences } });
    return (body['messages'] as { content: unknown }[]).flatMap(({ content }) =>
      Array.isArray(content) ? content.map(({ text, cache_control: mark }: { text: string; cache_control: object }) => [text, mark]) : [],
    );
  }
  const short = { type: 'ephemeral' };
  const long = { type: 'ephemeral', ttl: '1h' };

  test('sets one mark at the end of the constant part', () => {
    assert.deepEqual(marks({ cacheRetention: 'short', cacheBreakpointStrategy: 'single' }), [['be kind', short]]);
    assert.deepEqual(marks({ cacheRetention: 'long', cacheBreakpointStrategy: 'single' }), [['be kind', long]]);
    assert.deepEqual(marks({ cacheRetention: 'none', cacheBreakpointStrategy: 'single' }), []);
  });

  test('sets marks at the last user messages in multi-zone mode', () => {
    const zones = { cacheRetention: 'short', cacheBreakpointStrategy: 'multi-zone' } as const;
    assert.deepEqual(marks(zones), [
      ['be kind', short],
      ['three', short],
      ['five', short],
    ]);
    const behind = { ...zones, advancedCacheOptimization: { enableRecentZonePromotion: false } };
    assert.deepEqual(marks(behind), [
      ['be kind', short],
      ['three', short],
    ]);
    assert.deepEqual(marks(behind, talk.slice(0, 1)), [['be kind', short]]);
    assert.deepEqual(marks({ ...zones, cacheBreakpointStrategy: 'auto' }), [
      ['be kind', short],
      ['three', short],
      ['five', short],
    ]);
    assert.deepEqual(marks({ ...zones, cacheBreakpointStrategy: 'auto' }, talk.slice(0, 1)), [['be kind', short]]);
  });

  test('uses short retention for the first call of an adaptive agent', () => {
    const asked = { cacheRetention: 'long', cacheBreakpointStrategy: 'single', adaptiveCacheRetention: true } as const;
    assert.deepEqual(marks(asked, talk.slice(0, 1)), [['be kind', short]]);
    assert.deepEqual(marks(asked), [['be kind', long]]);
    assert.deepEqual(marks({ ...asked, adaptiveCacheRetention: false }, talk.slice(0, 1)), [['be kind', long]]);
  });

  test('sets no marks for other providers', () => {
    const body = told({ entry: model({}), request: { system: 'be kind', preferences: { cacheRetention: 'long' } } });
    assert.ok(!JSON.stringify(body).includes('cache_control'));
  });
});

describe('model variations', () => {
  const tools = [
    {
      name: 'find',
      description: 'finds',
      strict: true,
      parameters: { type: 'object', properties: { maxLength: { type: 'string', maxLength: 5, enum: ['a'] } } },
    },
  ];
  const schema = (entry: object) =>
    told({ entry, request: { tools } })['tools'] as { function: { parameters: object; strict?: boolean } }[] | undefined;

  test('omits tools if unsupported', () => {
    const body = told({ entry: model({ compat: { supportsTools: false } }), request: { tools, toolChoice: 'required' } });
    assert.deepEqual([body['tools'], body['tool_choice']], [undefined, undefined]);
  });

  test('removes unsupported schema keywords but no property names', () => {
    const properties = { maxLength: { type: 'string', enum: ['a'] } };
    assert.deepEqual(schema(model({ compat: { toolSchemaProfile: 'xai' } }))?.[0]?.function.parameters, { type: 'object', properties });
    assert.deepEqual(schema(model({}))?.[0]?.function.parameters, tools[0]?.parameters);
  });

  test('enables web search if configured', () => {
    const searches = (entry: object, asked = {}) => told({ entry, request: asked })['web_search_options'];
    const can = model({ compat: { nativeWebSearchTool: true } });
    assert.deepEqual([searches(can), searches(can, { toolChoice: 'none' }), searches(model({}))], [{}, undefined, undefined]);
  });

  test('uses configured field names and omits unsupported fields', () => {
    const sdkCompat = { maxTokensField: 'max_completion_tokens', supportsUsageInStreaming: false, supportsStrictMode: false };
    const body = told({ entry: model({ sdkCompat }), request: { tools, maxTokens: 7 } });
    assert.deepEqual([body['max_completion_tokens'], body['max_tokens'], body['stream_options']], [7, undefined, undefined]);
    assert.equal(schema(model({ sdkCompat }))?.[0]?.function.strict, undefined);
    assert.equal(schema(model({}))?.[0]?.function.strict, true);
  });

  test('converts call ids to nine letters and digits if required', () => {
    const messages: ModelRequest['messages'] = [
      { role: 'assistant', text: '', toolCalls: [{ callId: 'call_up_0', name: 'find', input: {}, text: '{}' }] },
      { role: 'tool', callId: 'call_up_0', name: 'find', result: 1, failed: false },
    ];
    const ids = (entry: object): unknown[] => {
      const [asked, answered] = told({ entry, request: { messages } })['messages'] as [
        { tool_calls: { id: string }[] },
        { tool_call_id: string; name?: string },
      ];
      return [asked.tool_calls[0]?.id, answered.tool_call_id, answered.name];
    };
    assert.deepEqual(ids(model({ sdkCompat: { requiresToolResultName: true } })), ['call_up_0', 'call_up_0', 'find']);
    for (const capabilities of [{ transcriptToolCallIdMode: 'strict9' }, { transcriptToolCallIdModelHints: ['SMA'] }]) {
      const [id, named] = ids({ capabilities });
      assert.match(String(id), /^[A-Za-z0-9]{9}$/);
      assert.equal(named, id);
    }
    assert.deepEqual(ids({ capabilities: { transcriptToolCallIdModelHints: ['mistral'] } }), ['call_up_0', 'call_up_0', undefined]);
  });
});

test('decodes HTML entities in tool arguments', async () => {
  await using upstream = await startUpstream({
    kind: 'tools',
    calls: [{ name: 'find', arguments: '{&quot;q&quot;: &quot;a &amp;lt; b &#38; c &#x110000;&quot;}' }],
  });
  const entry = { models: [{ id: 'small', compat: { toolCallArgumentsEncoding: 'html-entities' } }] };
  for (const isComplete of [false, true]) {
    const [called] = (await run(against(upstream, entry), request(), isComplete)).parts;
    assert.ok(called?.type === 'tool-call');
    assert.deepEqual(called.call.input, { q: 'a &lt; b & c &#x110000;' });
  }
  const [plain] = (await run(against(upstream))).parts;
  assert.ok(plain?.type === 'tool-call' && plain.call.text.includes('&quot;'), 'nobody else is read so');
});
