import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startUpstream } from './upstream.ts';

function sendRequest(url: string): Promise<Response> {
  return fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'm', stream: true, messages: [] }) });
}

test('streams one frame per token, a finish reason, the usage and [DONE]', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'one two' });

  const body = await (await sendRequest(upstream.url)).text();

  assert.deepEqual(body.match(/(?<="content":")[^"]+/g), ['one ', 'two']);
  assert.match(body, /"finish_reason":"stop"/);
  assert.match(body, /"completion_tokens":2/);
  assert.ok(body.endsWith('data: [DONE]\n\n'));
  assert.equal(upstream.requests[0]?.body.model, 'm');
});

test('each request takes the next behaviour and repeats the last one', async () => {
  await using upstream = await startUpstream();
  upstream.respond({ kind: 'status', status: 429, headers: { 'retry-after': '1' } }, { kind: 'status', status: 500 });

  const answers = [await sendRequest(upstream.url), await sendRequest(upstream.url), await sendRequest(upstream.url)];

  assert.deepEqual(
    answers.map(({ status }) => status),
    [429, 500, 500],
  );
  assert.equal(answers[0]?.headers.get('retry-after'), '1');
  await Promise.all(answers.map((answer) => answer.text()));
});

test('a cut closes the connection after the given tokens', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: 'one two three', afterTokens: 2 });

  const decoder = new TextDecoder();
  let seen = '';
  const response = await sendRequest(upstream.url);
  await assert.rejects(async () => {
    for await (const bytes of response.body ?? []) seen += decoder.decode(bytes as Uint8Array, { stream: true });
  });

  assert.match(seen, /two/);
  assert.doesNotMatch(seen, /three|\[DONE\]/);
});
