import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { startEmbedded, type Running } from './embedded.ts';

const url = 'data:image/png;base64,iVBORw0KGgo=';
const image = { type: 'image_url' as const, image_url: { url } };
const note = '[image left out: only text is supported]';
const look: ChatCompletionMessageParam = { role: 'user', content: [{ type: 'text', text: 'look' }, image] };
const history: ChatCompletionMessageParam[] = [look, { role: 'assistant', content: 'red' }, { role: 'user', content: 'and?' }];

let upstream: Upstream;
let product: Running;
let client: OpenAI;
before(async () => {
  upstream = await startUpstream({ kind: 'text', text: 'It is red.' });
  const lab = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'sees', input: ['text', 'image'] }, { id: 'reads' }] };
  product = await startEmbedded({ config: { providers: { entries: { lab } }, agents: { default: { provider: 'lab', model: 'reads' } } } });
  client = new OpenAI({ baseURL: `${product.url}/openai/v1`, apiKey: product.token, maxRetries: 0 });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

function getSentMessages(): { role: string; content: unknown }[] {
  return (upstream.requests.at(-1)?.body.messages ?? []) as { role: string; content: unknown }[];
}

test('a model that takes images gets them in earlier messages and in the last one', async () => {
  for (const messages of [history, [look]]) {
    await client.chat.completions.create({ model: 'lab/sees', messages });
    assert.deepEqual(getSentMessages()[0]?.content, [{ type: 'text', text: 'look' }, image]);
  }
});

test('a model that takes text only gets a note, and refuses an image in the last message', async () => {
  const { response } = await client.chat.completions.create({ model: 'lab/reads', messages: history }).withResponse();
  assert.equal(getSentMessages()[0]?.content, `look\n${note}`);
  assert.equal(response.headers.get('x-switchyard-warning'), 'messages: images reach only models that take them');
  await assert.rejects(
    client.chat.completions.create({ model: 'lab/reads', messages: [look] }),
    (error) => error instanceof OpenAI.APIError && error.status === 400 && /lab\/reads takes text only/.test(error.message),
  );
});

test('a stored response keeps the images of its conversation', async () => {
  const content = [
    { type: 'input_text' as const, text: 'look' },
    { type: 'input_image' as const, image_url: url, detail: 'auto' as const },
  ];
  const first = await client.responses.create({ model: 'lab/sees', input: [{ role: 'user', content }] });
  await client.responses.create({ model: 'lab/sees', previous_response_id: first.id, input: 'and?' });
  assert.deepEqual(getSentMessages()[0]?.content, [{ type: 'text', text: 'look' }, image]);
});
