import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import type { ResponseInput, ResponseInputItem, ResponseOutputItem } from 'openai/resources/responses/responses';
import { startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';

const REASONING = 'I should look it up.';
const ASKING = {
  kind: 'tools',
  calls: [{ name: 'weather', arguments: { city: 'Oslo' } }],
  fields: { reasoning_content: REASONING },
} as const;
const ANSWER = { kind: 'text', text: 'It rains.' } as const;
const parameters = { type: 'object' as const, properties: { city: { type: 'string' as const } } };
const prompt = 'weather?';

let upstream: Upstream;
let product: Running;
let apiKey: string;
let baseURL: string;
before(async () => {
  upstream = await startUpstream();
  const lab = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'one' }] };
  const other = { ...lab, models: [{ id: 'two' }] };
  const agents = { default: { provider: 'lab', model: 'one' }, second: { provider: 'other', model: 'two' } };
  product = await startEmbedded({ config: { providers: { entries: { lab, other } }, agents } });
  ({ secret: apiKey } = await call<{ secret: string }>(product, 'tokens.create', { id: 'loop', scopes: ['api'], lenient: true }));
  baseURL = `${product.url}/v1`;
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

/** Returns the reasoning that the provider received with the tool call. */
function getSentReasoning(): unknown {
  const messages = (upstream.requests.at(-1)?.body.messages ?? []) as { tool_calls?: unknown; reasoning_content?: unknown }[];
  return messages.find((message) => message.tool_calls !== undefined)?.reasoning_content;
}

test('the loop of the AI SDK sends reasoning back to the provider', async () => {
  const model = createOpenAICompatible({ name: 'switchyard', baseURL, apiKey })('lab/one');
  const weather = tool({ description: 'tells it', inputSchema: jsonSchema<{ city: string }>(parameters), execute: () => 'rain' });
  const options = { model, tools: { weather }, prompt, stopWhen: stepCountIs(3) };
  for (const run of [async () => (await generateText(options)).text, async () => streamText(options).text]) {
    upstream.respond(ASKING, ANSWER);
    assert.equal(await run(), ANSWER.text);
    assert.equal(getSentReasoning(), REASONING);
  }
});

test('a response that continues another sends its reasoning back to the same model', async () => {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
  for (const [model, expected] of [
    ['lab/one', REASONING],
    ['second', undefined],
  ] as const) {
    upstream.respond(ASKING, ANSWER);
    const { id: previous_response_id, output } = await client.responses.create({ model: 'lab/one', input: prompt, tools });
    const item = output.find(({ type }) => type === 'function_call');
    assert.ok(item?.type === 'function_call');
    const input = [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'rain' }];
    const { output_text: text } = await client.responses.create({ model, previous_response_id, input, tools });
    assert.equal(text, ANSWER.text);
    assert.equal(getSentReasoning(), expected);
  }
});

/** Requests a response on the lenient path and returns its output items, whole or from its events as Codex reads them. */
async function requestItems(input: ResponseInput, { model = 'lab/one', stream }: { model?: string; stream: boolean }) {
  const client = new OpenAI({ baseURL: `${product.url}/openai/v1`, apiKey: product.token, maxRetries: 0 });
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
  const body = { model, input, tools, store: false, include: ['reasoning.encrypted_content' as const] };
  if (!stream) return (await client.responses.create(body)).output;
  const items: ResponseOutputItem[] = [];
  for await (const event of await client.responses.create({ ...body, stream }))
    if (event.type === 'response.output_item.done') items.push(event.item);
  return items;
}

test('a client that stores the conversation itself sends reasoning back in a reasoning item', async () => {
  for (const stream of [false, true])
    for (const text of ['', 'Let me look.'])
      for (const [model, expected] of [
        ['lab/one', REASONING],
        ['second', undefined],
      ] as const) {
        upstream.respond({ ...ASKING, text }, ANSWER);
        const question = { role: 'user' as const, content: prompt };
        const items = await requestItems([question], { stream });
        const types = items.map(({ type }) => type);
        assert.deepEqual(types, [...(text === '' ? [] : ['message']), 'reasoning', 'function_call']);
        const reasoning = items.find(({ type }) => type === 'reasoning');
        assert.deepEqual(reasoning?.type === 'reasoning' && reasoning.summary, [{ type: 'summary_text', text: REASONING }]);
        // Codex sends no ids back with `store: false`.
        const kept = items.map(({ id: _id, ...item }) => item as ResponseInputItem);
        const callItem = items.find(({ type }) => type === 'function_call');
        assert.ok(callItem?.type === 'function_call');
        const result = { type: 'function_call_output' as const, call_id: callItem.call_id, output: 'rain' };
        const answered = await requestItems([question, ...kept, result], { model, stream });
        assert.equal(answered.length, 1);
        assert.equal(getSentReasoning(), expected, `${model}, stream ${stream}`);
      }
});

test('a reference to a stored call sends its reasoning back, also on the strict path', async () => {
  upstream.respond(ASKING, ANSWER);
  const { secret } = await call<{ secret: string }>(product, 'tokens.create', { id: 'strict', scopes: ['api'] });
  const client = new OpenAI({ baseURL, apiKey: secret, maxRetries: 0 });
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
  const question = { role: 'user' as const, content: prompt };
  const { output } = await client.responses.create({ model: 'lab/one', input: [question], tools });
  const [item, ...rest] = output;
  assert.ok(item?.type === 'function_call' && item.id !== undefined && rest.length === 0, 'a strict client gets no reasoning item');
  const reference = { type: 'item_reference' as const, id: item.id };
  const result = { type: 'function_call_output' as const, call_id: item.call_id, output: 'rain' };
  await client.responses.create({ model: 'lab/one', input: [question, reference, result], tools });
  assert.equal(getSentReasoning(), REASONING);
});
