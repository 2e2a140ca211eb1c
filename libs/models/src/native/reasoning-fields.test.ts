import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream, type NativeAnswer } from '@switchyard/testkit';
import type { ModelMessage, Models, ProviderFields } from '../index.ts';
import { KEY, open, request } from '../models.fixture.ts';

const ASKS: NativeAnswer = {
  says: [
    { thought: 'Where is it?', signature: 'c2ln' },
    { call: { id: 'call_1', name: 'find', input: ['{"q":"sea"}'] }, signature: 'Z29v' },
  ],
};
const thinking = {
  model: { provider: 'up', modelId: 'one' },
  conversation: 'of Alice',
  tools: [{ name: 'find', description: 'finds', parameters: { type: 'object' } }],
  preferences: { thinkingLevel: 'high' as const },
};

for (const type of ['anthropic', 'google'] as const)
  test(`another process sends the reasoning back to the ${type} API`, async () => {
    const { events } = NATIVE_WIRES[type];
    await using upstream = await startNativeUpstream({ writes: events(ASKS) }, { writes: events({ says: [{ text: 'ok' }] }) });
    const start = (): Models =>
      open({
        entries: { up: { type, baseUrl: upstream.url, apiKeyName: 'UP_KEY', models: [{ id: 'one', reasoning: true }] } },
        secret: async () => KEY,
      });
    const { calls, providerFields } = await start().complete(request(thinking));
    // Another replica reads the step from its checkpoint.
    const step = JSON.parse(JSON.stringify({ toolCalls: calls, providerFields })) as {
      toolCalls: typeof calls;
      providerFields: ProviderFields;
    };
    const resume = async (fields: ProviderFields): Promise<string> => {
      const messages: ModelMessage[] = [
        { role: 'user', text: 'look' },
        { role: 'assistant', text: '', ...step, providerFields: fields },
        { role: 'tool', callId: 'call_1', name: 'find', result: 'found', failed: false },
      ];
      await start().complete(request({ ...thinking, messages }));
      return JSON.stringify(upstream.requests.at(-1)?.body);
    };
    assert.match(await resume(step.providerFields), type === 'anthropic' ? /Where is it\?.*c2ln/ : /Z29v/);
    assert.doesNotMatch(await resume({ ...step.providerFields, provider: 'other' }), /Where is it|c2ln|Z29v/);
    // A client may send any JSON.
    for (const blocks of ['no', [1, null, { text: 2 }, { text: 'hm', metadata: { up: 'no' } }]])
      assert.doesNotMatch(await resume({ provider: 'up', fields: { reasoning_blocks: blocks } }), /hm/);
  });
