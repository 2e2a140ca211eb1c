import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool, type LanguageModel, type ModelMessage } from 'ai';
import { startEmbedded, type Running } from './embedded.ts';
import { call } from './exchange.ts';

const ANSWER = /weather answered: .*rain in Oslo/;
const QUESTION = 'weather {"city":"Oslo"}';
const tools = {
  weather: tool({
    description: 'tells it',
    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: ({ city }) => `rain in ${city}`,
  }),
};

let product: Running;
let lenient: string;
before(async () => {
  product = await startEmbedded();
  ({ secret: lenient } = await call<{ secret: string }>(product, 'tokens.create', { id: 'ai-sdk', scopes: ['api'], lenient: true }));
});
after(() => product[Symbol.asyncDispose]());

/** All requests of the client, in order. */
interface Client {
  model: LanguageModel;
  sent: Record<string, unknown>[];
}

function recording(sent: Client['sent']): typeof fetch {
  return async (input, init) => {
    if (typeof init?.body === 'string') sent.push(JSON.parse(init.body) as Record<string, unknown>);
    return fetch(input, init);
  };
}

/** Responses: the server stores the conversation, and the client sends references to earlier answers. */
function responses(model: string): Client {
  const sent: Client['sent'] = [];
  return { model: createOpenAI({ baseURL: `${product.url}/v1`, apiKey: product.token, fetch: recording(sent) })(model), sent };
}

/** Chat completions: the client stores the conversation. */
function completions(model: string): Client {
  const sent: Client['sent'] = [];
  const provider = createOpenAICompatible({
    name: 'switchyard',
    baseURL: `${product.url}/v1`,
    apiKey: lenient,
    includeUsage: true,
    fetch: recording(sent),
  });
  return { model: provider(model), sent };
}

for (const [title, client] of [
  ['responses', responses],
  ['completions', completions],
] as const) {
  test(`${title}: a tool call, its result and the answer`, async () => {
    const { model, sent } = client('dev/tools');
    const { text, steps, usage } = await generateText({ model, tools, prompt: QUESTION, stopWhen: stepCountIs(5) });
    assert.match(text, ANSWER);
    assert.deepEqual([steps.length, sent.length], [2, 2]);
    assert.ok((usage.totalTokens ?? 0) > 0);
  });

  test(`${title}: a streamed tool call, its result and the answer`, async () => {
    const { model } = client('dev/tools');
    const stream = streamText({ model, tools, prompt: QUESTION, stopWhen: stepCountIs(5) });
    const pieces = await Array.fromAsync(stream.textStream);
    assert.match(pieces.join(''), ANSWER);
    assert.ok(pieces.length > 1);
    assert.equal(await stream.finishReason, 'stop');
  });

  test(`${title}: a conversation of several turns`, async () => {
    const { model } = client('dev/echo');
    const messages: ModelMessage[] = [];
    for (const content of ['one', 'two', 'three']) {
      messages.push({ role: 'user', content });
      const { text, response } = await generateText({ model, messages });
      assert.match(text, new RegExp(`You said: ${content}$`));
      messages.push(...response.messages);
    }
  });

  test(`${title}: an unknown model is an error with our message`, async () => {
    const { model } = client('no/such');
    await assert.rejects(generateText({ model, prompt: 'hi', maxRetries: 0 }), /Model not found/);
  });
}

test('responses: sends earlier answers as references', async () => {
  const { model, sent } = responses('dev/echo');
  const { response } = await generateText({ model, prompt: 'one' });
  const { text } = await generateText({ model, messages: [...response.messages, { role: 'user', content: 'two' }] });
  assert.match(text, /You said: two$/);
  const [first] = (sent[1] ?? assert.fail())['input'] as { type?: string }[];
  assert.equal(first?.type, 'item_reference');
});
