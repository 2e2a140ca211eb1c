import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NATIVE_WIRES, startNativeUpstream, type NativeAnswer, type NativeRequest, type NativeWire } from '@switchyard/testkit';
import { KEY, open, request, run } from '../models.fixture.ts';
import type { ModelMessage, ModelRequest } from '../index.ts';

const FIND = { name: 'find', description: 'finds', parameters: { type: 'object', properties: { q: { type: 'string' } } } };
const CALL = { callId: 'call.1', name: 'find', input: { q: 'sea' }, text: '{"q":"sea"}' };
const TALK: readonly ModelMessage[] = [
  { role: 'user', text: 'look' },
  { role: 'assistant', text: '', toolCalls: [CALL] },
  { role: 'tool', callId: 'call.1', name: 'find', result: { found: 1 }, failed: false },
];

/** Sends the requests in sequence and returns the received requests. */
async function sent(
  type: NativeWire,
  turns: readonly Partial<ModelRequest>[],
  { entry = {}, answers = [], between = () => undefined }: Setup = {},
): Promise<NativeRequest[]> {
  const { events } = NATIVE_WIRES[type];
  const plain: NativeAnswer = { says: [{ text: 'ok' }] };
  const [first = plain, ...more] = answers;
  await using upstream = await startNativeUpstream({ writes: events(first) }, ...more.map((answer) => ({ writes: events(answer) })));
  const up = { type, baseUrl: upstream.url, apiKeyName: 'UP_KEY', models: [{ id: 'one', reasoning: true }], ...entry };
  const models = open({ entries: { up }, secret: async () => KEY });
  for (const turn of turns) {
    const { error } = await run(models, request({ model: { provider: 'up', modelId: 'one' }, ...turn }));
    assert.equal(error, undefined);
    between();
  }
  return [...upstream.requests];
}

interface Setup {
  entry?: object;
  answers?: readonly NativeAnswer[];
  /** Called after each turn. */
  between?: () => void;
}

test('sends the key header and only the API headers of the SDK', async () => {
  const [anthropic] = await sent('anthropic', [{}]);
  const [google] = await sent('google', [{}]);
  assert.deepEqual([anthropic?.headers['x-api-key'], google?.headers['x-goog-api-key']], [KEY, KEY]);
  assert.deepEqual([anthropic?.path, google?.path], ['/v1/messages', '/v1/models/one:streamGenerateContent?alt=sse']);
  assert.equal(anthropic?.headers['anthropic-version'], '2023-06-01');
  for (const { headers } of [anthropic, google].filter((one) => one !== undefined))
    assert.deepEqual([headers['authorization'], headers['user-agent']], [undefined, 'switchyard']);
});

test('sends the images of messages and tool results in the parts of each API', async () => {
  const data = 'data:image/png;base64,AA==';
  const url = 'https://example.com/a.png';
  const messages: ModelMessage[] = [
    { role: 'user', text: 'look', images: [data, url] },
    ...TALK.slice(1, 2),
    { role: 'tool', callId: 'call.1', name: 'find', result: 'seen', failed: false, images: [data] },
  ];
  const entry = { models: [{ id: 'one', input: ['text', 'image'] }] };
  const [anthropic] = await sent('anthropic', [{ messages }], { entry });
  const { messages: blocks } = (anthropic?.body ?? {}) as { messages: { content: { type: string; source?: unknown }[] }[] };
  const sources = blocks.flatMap(({ content }) => content.filter(({ type }) => type === 'image').map(({ source }) => source));
  const base64 = { type: 'base64', media_type: 'image/png', data: 'AA==' };
  assert.deepEqual(sources, [base64, { type: 'url', url }, base64]);
  const [google] = await sent('google', [{ messages }], { entry });
  const { contents } = (google?.body ?? {}) as { contents: { parts: { inlineData?: unknown; fileData?: { fileUri: string } }[] }[] };
  const parts = contents.flatMap((content) => content.parts);
  assert.deepEqual(
    parts.flatMap(({ inlineData }) => inlineData ?? []),
    [1, 2].map(() => ({ mimeType: 'image/png', data: 'AA==' })),
  );
  assert.deepEqual(
    parts.flatMap(({ fileData }) => fileData?.fileUri ?? []),
    [url],
  );
});

test('sends OAuth tokens as bearer tokens with additional headers', async () => {
  const keyName = 'UP_WORK_OAUTH_TOKEN';
  const [anthropic] = await sent('anthropic', [{ keyName }]);
  const [google] = await sent('google', [{ keyName }]);
  for (const one of [anthropic, google]) assert.equal(one?.headers['authorization'], `Bearer ${KEY}`);
  assert.deepEqual([anthropic?.headers['x-api-key'], google?.headers['x-goog-api-key']], [undefined, undefined]);
  assert.equal(anthropic?.headers['anthropic-beta'], 'oauth-2025-04-20');
});

test('selects key or OAuth header by the secret name of each call', async () => {
  const requests = await sent('anthropic', [{}, { keyName: 'UP_WORK_OAUTH_TOKEN' }, {}]);
  assert.deepEqual(
    requests.map(({ headers }) => [headers['x-api-key'], headers['authorization']]),
    [
      [KEY, undefined],
      [undefined, `Bearer ${KEY}`],
      [KEY, undefined],
    ],
  );
});

test('prefers configured headers and reads no key from the environment', async () => {
  process.env['ANTHROPIC_API_KEY'] = 'not-this-one';
  try {
    const [asked] = await sent('anthropic', [{}], { entry: { headers: { 'x-api-key': 'mine', 'x-team': 'a' } } });
    assert.deepEqual([asked?.headers['x-api-key'], asked?.headers['x-team']], ['mine', 'a']);
  } finally {
    delete process.env['ANTHROPIC_API_KEY'];
  }
});

test('renders a conversation with tools for each API', async () => {
  const turn: Partial<ModelRequest> = {
    system: 'Be brief.',
    messages: TALK,
    tools: [FIND],
    toolChoice: 'auto',
    temperature: 0.5,
    maxTokens: 100,
    stop: ['END'],
  };
  const [{ body: anthropic } = assert.fail()] = await sent('anthropic', [turn]);
  assert.deepEqual(anthropic['messages'], [
    { role: 'user', content: [{ type: 'text', text: 'look' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'find', input: { q: 'sea' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '{"found":1}' }] },
  ]);
  assert.deepEqual(anthropic['system'], [{ type: 'text', text: 'Be brief.' }]);
  const { model, max_tokens, temperature, stop_sequences, stream, tools, tool_choice } = anthropic;
  assert.deepEqual([model, max_tokens, temperature, stop_sequences, stream], ['one', 100, 0.5, ['END'], true]);
  assert.deepEqual(tools, [{ name: 'find', description: 'finds', input_schema: FIND.parameters }]);
  assert.deepEqual(tool_choice, { type: 'auto' });

  const [{ body: google } = assert.fail()] = await sent('google', [turn]);
  assert.deepEqual(google['systemInstruction'], { parts: [{ text: 'Be brief.' }] });
  const [message, called, found] = google['contents'] as {
    parts: { functionCall?: { args: object }; functionResponse?: { name: string } }[];
  }[];
  assert.deepEqual(message, { role: 'user', parts: [{ text: 'look' }] });
  assert.deepEqual(called?.parts[0]?.functionCall?.args, { q: 'sea' });
  assert.equal(found?.parts[0]?.functionResponse?.name, 'find');
  assert.deepEqual(google['generationConfig'], { maxOutputTokens: 100, temperature: 0.5, stopSequences: ['END'] });
});

const THOUGHT = { thought: 'Where is it?', signature: 'c2ln' };
const ASKS: NativeAnswer = { says: [THOUGHT, { call: { id: 'call_1', name: 'find', input: ['{"q":"sea"}'] }, signature: 'Z29v' }] };
const THINKING = { conversation: 'of Alice', tools: [FIND], preferences: { thinkingLevel: 'high' as const } };

/** Returns the reasoning settings of a received request. */
function getThinking(body: NativeRequest['body'] | undefined): string | undefined {
  return (body?.['thinking'] as { type: string } | undefined)?.type;
}

/** Returns a conversation with a tool call of the given id. */
function talk(callId: string): ModelMessage[] {
  const call = { ...CALL, callId };
  return [
    { role: 'user', text: 'look' },
    { role: 'assistant', text: '', toolCalls: [call] },
    { role: 'tool', callId, name: 'find', result: 'found', failed: false },
  ];
}

test('sends signed reasoning back with the tool result', async () => {
  const [, { body } = assert.fail()] = await sent('anthropic', [THINKING, { ...THINKING, messages: talk('call_1') }], {
    answers: [ASKS, { says: [] }],
  });
  const [, assistant] = body['messages'] as { content: unknown[] }[];
  assert.deepEqual(assistant?.content[0], { type: 'thinking', thinking: 'Where is it?', signature: 'c2ln' });
  assert.equal(getThinking(body), 'enabled');
});

test('does not send reasoning to another conversation with the same call ids', async () => {
  const { conversation: _, ...unnamed } = THINKING;
  const anothers = { ...unnamed, conversation: 'of Bob' };
  for (const [first, then] of [
    [THINKING, anothers],
    [THINKING, unnamed],
    [unnamed, THINKING],
    [unnamed, unnamed],
  ] as const) {
    const [, asked] = await sent('anthropic', [first, { ...then, messages: talk('call_1') }], { answers: [ASKS, { says: [] }] });
    assert.doesNotMatch(JSON.stringify(asked?.body), /Where is it|c2ln/);
    assert.equal(getThinking(asked?.body), 'disabled');
  }
});

test('disables reasoning if it is not cached or must be dropped', async () => {
  const unheard = await sent('anthropic', [{ ...THINKING, messages: talk('call_9') }]);
  assert.equal(getThinking(unheard[0]?.body), 'disabled');

  const entry = { capabilities: { dropThinkingBlockModelHints: ['ONE'] } };
  const dropped = await sent('anthropic', [THINKING, { ...THINKING, messages: talk('call_1') }], { entry, answers: [ASKS, { says: [] }] });
  const [, assistant] = (dropped[1]?.body['messages'] ?? []) as { content: { type: string }[] }[];
  assert.deepEqual(
    assistant?.content.map(({ type }) => type),
    ['tool_use'],
  );
  assert.equal(getThinking(dropped[1]?.body), 'disabled');
});

test('drops old reasoning by turns and by age', async (t) => {
  const steps = (n: number): ModelMessage[] => [
    { role: 'user', text: 'look' },
    ...talk('call_1').slice(1),
    ...Array.from({ length: n }, (_, at) => talk(`call_x${at}`).slice(1)).flat(),
  ];
  const render = async (preferences: ModelRequest['preferences'], messages: ModelMessage[], laterMs = 0): Promise<boolean> => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    const turns = [THINKING, { ...THINKING, messages, preferences: { ...THINKING.preferences, ...preferences } }];
    const [, { body } = assert.fail()] = await sent('anthropic', turns, {
      answers: [ASKS, { says: [] }],
      between: () => t.mock.timers.tick(laterMs),
    });
    t.mock.timers.reset();
    return JSON.stringify(body).includes('c2ln');
  };
  const contextEngine = { thinkingKeepTurns: 2, replayDriftIdleMs: 60_000 };
  assert.deepEqual(
    [await render({ contextEngine }, steps(1)), await render({ contextEngine }, steps(2)), await render({}, steps(2))],
    [true, false, true],
  );
  assert.deepEqual(
    [
      await render({ contextEngine }, steps(0), 60_000),
      await render({ contextEngine }, steps(0), 60_001),
      await render({}, steps(0), 60_001),
    ],
    [true, false, true],
  );
});

test('sends the signature of a Google tool call back', async () => {
  const { events } = NATIVE_WIRES.google;
  await using upstream = await startNativeUpstream({ writes: events(ASKS) }, { writes: events({ says: [{ text: 'ok' }] }) });
  const models = open({ entries: { up: { type: 'google', baseUrl: upstream.url, models: [{ id: 'gemini-3-pro' }] } } });
  const model = { provider: 'up', modelId: 'gemini-3-pro' };
  const { parts } = await run(models, request({ model, ...THINKING }));
  const called = parts.find((part) => part.type === 'tool-call');
  await run(models, request({ model, ...THINKING, messages: talk(called?.call.callId ?? '') }));
  const [, assistant] = (upstream.requests[1]?.body['contents'] ?? []) as { parts: { thoughtSignature?: string }[] }[];
  assert.ok(assistant?.parts.some(({ thoughtSignature }) => thoughtSignature === 'Z29v'));
});

test('disables reasoning for level off and for forced tool calls', async () => {
  const asked = await sent('anthropic', [
    { preferences: { thinkingLevel: 'off' } },
    { ...THINKING, toolChoice: 'required' },
    { ...THINKING, toolChoice: { name: 'find' } },
    THINKING,
    {},
  ]);
  assert.deepEqual(
    asked.map(({ body }) => getThinking(body)),
    ['disabled', 'disabled', 'disabled', 'enabled', undefined],
  );
});

test('sets cache marks', async () => {
  const turn = { system: 'Be brief.', preferences: { cacheRetention: 'long' as const } };
  const [marked] = await sent('anthropic', [turn]);
  const [unmarked] = await sent('anthropic', [{ ...turn, preferences: {} }]);
  assert.deepEqual(marked?.body['system'], [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }]);
  assert.deepEqual(unmarked?.body['system'], [{ type: 'text', text: 'Be brief.' }]);
});

test('adds the search tool only beside other tools', async () => {
  const entry = { models: [{ id: 'one', compat: { nativeWebSearchTool: true } }] };
  const names = ({ body }: NativeRequest) => ((body['tools'] as { name?: string }[] | undefined) ?? []).map(({ name }) => name);
  const searching = await sent('anthropic', [{ tools: [FIND] }, {}], { entry });
  assert.deepEqual(searching.map(names), [['find', 'web_search'], []]);
  assert.deepEqual((await sent('anthropic', [{ tools: [FIND] }])).map(names), [['find']]);
});
