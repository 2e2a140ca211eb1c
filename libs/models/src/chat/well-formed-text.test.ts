import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream, startUpstream } from '@switchyard/testkit';
import { toWellFormedJson } from '../http/json-text.ts';
import { toolCall, type ModelRequest } from '../index.ts';
import { against, KEY, open, request, TEXT } from '../models.fixture.ts';

/** Text that was cut inside a character. */
const CUT = 'sea 🌊'.slice(0, -1);
const tools = [{ name: 'find', description: CUT, parameters: { type: 'object', description: CUT } }];
const prompt: Partial<ModelRequest> = {
  system: CUT,
  tools,
  messages: [
    { role: 'user', text: CUT },
    { role: 'assistant', text: CUT, toolCalls: [toolCall('c', 'find', JSON.stringify({ q: 'x' }))] },
    { role: 'tool', callId: 'c', name: 'find', result: CUT, failed: false },
  ],
};

function assertWellFormed(body: unknown, count: number): void {
  const text = JSON.stringify(body);
  assert.doesNotMatch(text, /\\ud[89a-f]/);
  assert.equal(text.split('sea \ufffd').length - 1, count);
}

test('replaces unpaired surrogates in prompts and tools of chat completions', async () => {
  await using upstream = await startUpstream(TEXT);
  await against(upstream).complete(request(prompt));
  assertWellFormed(upstream.requests[0]?.body, 6);
});

for (const type of ['anthropic', 'google'] as const)
  test(`replaces unpaired surrogates in prompts and tools of the native ${type} API`, async () => {
    await using upstream = await startNativeUpstream({ writes: NATIVE_WIRES[type].events({ says: [{ text: 'hello' }] }) });
    const models = open({ entries: { up: { type, baseUrl: upstream.url, apiKeyName: 'UP_KEY' } }, secret: async () => KEY });
    await models.complete(request({ ...prompt, model: { provider: 'up', modelId: 'small' } }));
    assertWellFormed(upstream.requests[0]?.body, 6);
  });

test('replaces unpaired surrogates in texts to embed', async () => {
  await using upstream = await startUpstream({ kind: 'answer', body: { data: [{ index: 0, embedding: [1] }] } });
  const { signal } = new AbortController();
  await against(upstream).embed({ model: { provider: 'local', modelId: 'small' }, input: [CUT], signal, promptTimeoutMs: 5_000 });
  assertWellFormed(upstream.requests[0]?.body, 1);
});

test('keeps complete characters and text that looks like an escape', () => {
  for (const text of ['🌊', '\\ud83c', '\\\\ud83c', 'a \\" \\ud800 b']) {
    const json = JSON.stringify({ text });
    assert.equal(toWellFormedJson(json), json);
  }
  assert.equal(toWellFormedJson(JSON.stringify('\\\ud83c')), JSON.stringify('\\\ufffd'));
});
