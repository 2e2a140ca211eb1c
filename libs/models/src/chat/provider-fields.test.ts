import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream, type UpstreamBehaviour } from '@switchyard/testkit';
import type { ModelAnswer, ModelMessage, Models } from '../index.ts';
import { against, LOCAL, request, TEXT } from '../models.fixture.ts';
import { CompletionReader } from './completion-reader.ts';
import { mergeFields } from './provider-fields.ts';

const signature = { google: { thought_signature: 'abc' } };
const ASKING: UpstreamBehaviour = {
  kind: 'tools',
  calls: [{ name: 'find', arguments: '{}', fields: { extra_content: signature } }],
  fields: { reasoning_content: 'I should look it up.' },
};

async function call(
  models: Models,
  messages: readonly ModelMessage[],
  isStreamed: boolean,
): Promise<Omit<ModelAnswer, 'text' | 'reasoning'>> {
  const asked = request({ messages });
  return isStreamed ? ((await models.streamTo(asked, () => true)) ?? assert.fail()) : models.complete(asked);
}

for (const isStreamed of [false, true])
  test(`sends the fields of a message and its tool calls back, ${isStreamed ? 'streaming' : 'non-streaming'}`, async () => {
    await using upstream = await startUpstream(ASKING, TEXT);
    const models = against(upstream);
    const user: ModelMessage = { role: 'user', text: 'hi' };
    const { calls, providerFields } = await call(models, [user], isStreamed);
    assert.deepEqual(providerFields, { provider: LOCAL.provider, fields: ASKING.fields });
    const result: ModelMessage = { role: 'tool', callId: 'call_up_0', name: 'find', result: 'found', failed: false };
    const said = { role: 'assistant' as const, text: '', toolCalls: calls };
    const sent = { id: 'call_up_0', type: 'function', function: { name: 'find', arguments: '{}' } };

    await call(models, [user, { ...said, providerFields: providerFields ?? assert.fail() }, result], isStreamed);
    assert.deepEqual(upstream.requests.at(-1)?.body.messages?.[1], {
      role: 'assistant',
      content: null,
      reasoning_content: 'I should look it up.',
      tool_calls: [{ ...sent, extra_content: signature }],
    });

    await call(models, [user, { ...said, providerFields: { provider: 'other', fields: { reasoning_content: 'no' } } }, result], isStreamed);
    assert.deepEqual(upstream.requests.at(-1)?.body.messages?.[1], { role: 'assistant', content: null, tool_calls: [sent] });
  });

test('joins the fragments of fields, by index in lists', () => {
  const reader = new CompletionReader();
  const read = (delta: object, finish_reason: string | null = null): void =>
    reader.readChunk(JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] }));
  const detail = (index: number, rest: object): object => ({
    reasoning_details: [{ type: 'reasoning.text', format: 'f', index, ...rest }],
  });
  read({ role: 'assistant', content: '', refusal: null, reasoning_content: null, reasoning_details: [] });
  read(detail(0, { text: 'one ' }));
  read(detail(0, { text: 'two', signature: null }));
  read(detail(0, { signature: 'sig' }));
  read(detail(1, { data: 'xyz' }));
  read({}, 'stop');
  assert.deepEqual(reader.getEnding().fields, {
    reasoning_details: [
      { type: 'reasoning.text', format: 'f', index: 0, text: 'one two', signature: 'sig' },
      { type: 'reasoning.text', format: 'f', index: 1, data: 'xyz' },
    ],
  });
});

test('drops __proto__ from fields', () => {
  const fields = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
  const merged = mergeFields({ a: { b: 'x' } }, fields('{"a":{"__proto__":{"c":1},"b":"y"}}'));
  assert.equal(JSON.stringify(merged), '{"a":{"b":"xy"}}');
});

test('omits the fields for a model whose API rejects them', async () => {
  await using upstream = await startUpstream(TEXT);
  const models = against(upstream, { models: [{ id: 'small', sdkCompat: { supportsProviderFields: false } }] });
  const providerFields = { provider: LOCAL.provider, fields: { reasoning_content: 'hm' } };
  await call(models, [{ role: 'assistant', text: 'one', providerFields }], false);
  assert.deepEqual(upstream.requests[0]?.body.messages, [{ role: 'assistant', content: 'one' }]);
});
