import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { createModels, toolCall, type ModelMessage, type ModelPart, type ModelRequest, type Models, type ToolSpec } from '../index.ts';

const SEARCH: ToolSpec = { name: 'memory_search', description: 'searches', parameters: { type: 'object' } };

function devModels(): Models {
  const settings = { models: sections.models.parse({}), providers: sections.providers.parse({}), security: sections.security.parse({}) };
  return createModels({ settings: () => settings, secret: async () => null, env: {}, retry: { baseMs: 1, maxMs: 1 } });
}

function request(modelId: string, messages: ModelMessage[] | string, rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: { provider: 'dev', modelId },
    messages: typeof messages === 'string' ? [{ role: 'user', text: messages }] : messages,
    signal: new AbortController().signal,
    promptTimeoutMs: 5_000,
    ...rest,
  };
}

async function collect(parts: AsyncIterable<ModelPart>): Promise<ModelPart[]> {
  const all: ModelPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

function getText(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

test('dev/echo repeats the message, one token per word', async () => {
  const parts = await collect(devModels().stream(request('echo', 'hello  there\nfriend', { system: 'be kind' })));

  assert.equal(getText(parts), 'I am dev/echo, the development model. You said: hello  there\nfriend');
  assert.deepEqual(parts.slice(0, 3), [
    { type: 'text', text: 'I ' },
    { type: 'text', text: 'am ' },
    { type: 'text', text: 'dev/echo, ' },
  ]);
  assert.deepEqual(parts.at(-1), { type: 'finish', reason: 'stop', usage: { input: 5, output: 11 }, costUsd: 0 });
});

test('dev/echo stops at maxTokens with finish reason length', async () => {
  const parts = await collect(devModels().stream(request('echo', 'hello', { maxTokens: 2 })));

  assert.equal(getText(parts), 'I am ');
  assert.deepEqual(parts.at(-1), { type: 'finish', reason: 'length', usage: { input: 1, output: 2 }, costUsd: 0 });
});

test('dev/slow can be cancelled between two tokens', async () => {
  const abort = new AbortController();
  const parts = devModels().stream(request('slow', 'hello', { signal: abort.signal }));

  assert.equal((await parts.next()).done, false);
  abort.abort();

  await assert.rejects(collect(parts), { code: 'CANCELLED' });
});

test('does not time out a slow model that keeps sending', async () => {
  const parts = await collect(devModels().stream(request('slow', 'one two three four five six seven eight', { promptTimeoutMs: 600 })));

  assert.equal(parts.at(-1)?.type, 'finish');
});

test('dev/flaky in turn responds, rejects and breaks the stream', async () => {
  const models = devModels();
  const first = await collect(models.stream(request('flaky', 'hi')));
  assert.match(getText(first), /^I am dev\/flaky, the development model\. You said: hi$/);

  await assert.rejects(collect(models.stream(request('flaky', 'hi'))), {
    code: 'UNAVAILABLE',
    details: { reason: 'PROVIDER_UNAVAILABLE', status: 503 },
  });

  const cut: ModelPart[] = [];
  const third = models.stream(request('flaky', 'hi'));
  await assert.rejects(
    async () => {
      for await (const part of third) cut.push(part);
    },
    { code: 'UNAVAILABLE', details: { reason: 'STREAM_CUT' } },
  );
  assert.equal(getText(cut), 'I am dev/flaky, ');

  assert.equal((await collect(models.stream(request('flaky', 'again')))).at(-1)?.type, 'finish');
});

test('dev/tools calls the tool named in the message and responds with its result', async () => {
  const models = devModels();
  const message = 'please memory.search {"query": "a } b", "limit": 2} now';
  const parts = await collect(models.stream(request('tools', message, { tools: [SEARCH] })));

  const call = {
    callId: 'call_1',
    name: 'memory_search',
    input: { query: 'a } b', limit: 2 },
    text: '{"query": "a } b", "limit": 2}',
  };
  assert.deepEqual(parts[0], { type: 'tool-call', call });
  assert.equal(parts.at(-1)?.type === 'finish' && parts.at(-1), parts[1]);

  const after: ModelMessage[] = [
    { role: 'user', text: message },
    { role: 'assistant', text: '', toolCalls: [call] },
    { role: 'tool', callId: 'call_1', name: 'memory_search', result: { found: 3 }, failed: false },
  ];
  const answer = await collect(models.stream(request('tools', after, { tools: [SEARCH] })));
  assert.equal(getText(answer), 'I am dev/tools, the development model. memory_search answered: {"found":3}');
});

test('dev/tools respects toolChoice', async () => {
  const models = devModels();
  const [required] = await collect(models.stream(request('tools', 'hello', { tools: [SEARCH], toolChoice: 'required' })));
  assert.deepEqual(required, { type: 'tool-call', call: toolCall('call_1', 'memory_search', '') });
  const named = { tools: [{ ...SEARCH, name: 'other' }, SEARCH], toolChoice: { name: 'memory_search' } } as const;
  const [chosen] = await collect(models.stream(request('tools', 'other {} memory_search {"query":"x"}', named)));
  assert.deepEqual(chosen, { type: 'tool-call', call: toolCall('call_1', 'memory_search', '{"query":"x"}') });
  const idle = await collect(models.stream(request('tools', 'memory_search {}', { tools: [SEARCH], toolChoice: 'none' })));
  assert.match(getText(idle), /No tools are offered here\.$/);
});

test('development models end at stop sequences', async () => {
  const models = devModels();
  const readText = async (message: string, ...stop: string[]) => getText(await collect(models.stream(request('echo', message, { stop }))));
  const start = 'I am dev/echo, the development model. You said: ';
  assert.equal(await readText('one two three', 'two'), `${start}one `);
  assert.equal(await readText('one two three', 'e t'), `${start}on`);
  assert.equal(await readText('one two three', 'four', 'ee', 'hree'), `${start}one two t`);
  assert.equal(await readText('one two three', 'three four'), `${start}one two three`);
});

test('development models reject an output format', async () => {
  for (const modelId of ['echo', 'scripted', 'tools']) {
    const message = 'The development models support plain text only.';
    await assert.rejects(collect(devModels().stream(request(modelId, '[]', { format: {} }))), { code: 'INVALID_ARGUMENT', message });
  }
});

test('dev/tools lists its tools and passes invalid arguments as text', async () => {
  const models = devModels();
  const idle = await collect(models.stream(request('tools', 'hello memory_searching', { tools: [SEARCH] })));
  assert.match(getText(idle), /Tools offered here: memory_search\.$/);

  const [broken] = await collect(models.stream(request('tools', 'memory_search {"query": ', { tools: [SEARCH] })));
  assert.deepEqual(broken, { type: 'tool-call', call: toolCall('call_1', 'memory_search', '{"query": ') });
});

test('dev/scripted plays its script over several steps', async () => {
  const models = devModels();
  const script = JSON.stringify([
    { text: 'looking ' },
    { wait: 1 },
    { tool: { name: 'a', input: { x: 1 } } },
    { tool: { name: 'b' } },
    { text: 'done here' },
  ]);
  const first = await collect(models.stream(request('scripted', script)));
  assert.deepEqual(
    first.filter(({ type }) => type !== 'finish'),
    [
      { type: 'text', text: 'looking ' },
      { type: 'tool-call', call: { callId: 'call_1', name: 'a', input: { x: 1 }, text: '{"x":1}' } },
      { type: 'tool-call', call: { callId: 'call_2', name: 'b', input: {}, text: '{}' } },
    ],
  );

  const second = await collect(
    models.stream(
      request('scripted', [
        { role: 'user', text: script },
        { role: 'assistant', text: 'looking ', toolCalls: first.flatMap((part) => (part.type === 'tool-call' ? [part.call] : [])) },
        { role: 'tool', callId: 'call_1', name: 'a', result: 1, failed: false },
        { role: 'tool', callId: 'call_2', name: 'b', result: 2, failed: false },
      ]),
    ),
  );
  assert.equal(getText(second), 'done here');
  assert.deepEqual(second.at(-1), { type: 'finish', reason: 'stop', usage: { input: 6, output: 2 }, costUsd: 0 });
});

test('dev/scripted fails as scripted, before or after the first token', async () => {
  const models = devModels();
  const refused = JSON.stringify([{ error: { status: 429, message: 'slow down' } }]);
  await assert.rejects(collect(models.stream(request('scripted', refused))), { code: 'RESOURCE_EXHAUSTED', message: /slow down/ });

  const seen: ModelPart[] = [];
  const broken = models.stream(request('scripted', JSON.stringify([{ text: 'half an' }, { error: { code: 'ECONNRESET' } }])));
  await assert.rejects(
    async () => {
      for await (const part of broken) seen.push(part);
    },
    { code: 'UNAVAILABLE', details: { reason: 'STREAM_CUT' } },
  );
  assert.equal(getText(seen), 'half an');
});

test('dev/scripted rejects a malformed script with the path of the error', async () => {
  const models = devModels();
  for (const [script, told] of [
    ['hello', /the message is not JSON/],
    ['{"text":"x"}', /params: expected array, got object/],
    ['[{"text":"x"},{"tool":{}}]', /1: expected one of the accepted forms/],
  ] as const) {
    await assert.rejects(collect(models.stream(request('scripted', script))), { code: 'INVALID_ARGUMENT', message: told });
  }
});

test('rejects an unknown development model', async () => {
  await assert.rejects(collect(devModels().stream(request('gpt', 'hi'))), { code: 'NOT_FOUND', details: { reason: 'MODEL_NOT_FOUND' } });
});
