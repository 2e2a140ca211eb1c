import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type Input, type Result, type TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { testSessions, getTurnId } from '../sessions.fixture.ts';

type RequestParams = Omit<Input<'turns.run'>, 'turnId'>;

const WEATHER = { name: 'weather', description: 'tells it', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const tools = { agents: { tools: { model: 'dev/tools' }, scripted: { model: 'dev/scripted' } } };
const script = (...steps: object[]): string => JSON.stringify(steps);

/** Runs a stateless turn and returns its result and frames. */
async function run(bus: Bus, request: RequestParams): Promise<{ result: Result<'turns.run'>; frames: TurnFrame[] }> {
  const frames: TurnFrame[] = [];
  const running = bus.stream('turns.run', { turnId: getTurnId('stateless'), ...request });
  for (;;) {
    const step = await running.next();
    if (step.done) return { result: step.value, frames };
    frames.push(step.value);
  }
}

/** Sessions whose default agent uses the given upstream. */
async function withUpstream(upstream: Upstream) {
  const entries = { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url, models: [{ id: 'one' }] } };
  return testSessions({ settings: { providers: { entries } }, agents: { default: { provider: 'lab', model: 'one' } } });
}

test('the model receives history, message and later messages', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream);
  await run(app.bus, {
    model: 'default',
    system: 'be brief',
    history: [
      { role: 'user', text: 'my name is Ada' },
      { role: 'assistant', text: 'Hello Ada.' },
    ],
    message: 'who am I?',
    since: [{ role: 'assistant', text: 'You are' }],
  });
  assert.deepEqual(upstream.requests[0]?.body.messages, [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'my name is Ada' },
    { role: 'assistant', content: 'Hello Ada.' },
    { role: 'user', content: 'who am I?' },
    { role: 'assistant', content: 'You are' },
  ]);
});

test('a stateless turn stores nothing', async () => {
  await using app = await testSessions();
  const history = [{ role: 'user' as const, text: 'before' }];
  await run(app.bus, { model: 'default', message: 'hello', history });
  assert.equal((await app.bus.call('session.list', {})).total, 0);
  assert.deepEqual(await app.bus.call('session.history', {}), { messages: [] });
  // The prompt contains only the four words of this request and nothing of the first one.
  const { result } = await run(app.bus, { model: 'default', message: 'and now to you' });
  assert.equal(result.tokensUsed.input, 4);
});

test('the caller’s tools replace the agent’s, and calling one ends the turn', async () => {
  await using app = await testSessions(tools);
  const offered = async (request: Partial<RequestParams>) =>
    (await run(app.bus, { model: 'tools', message: 'which?', ...request })).result.response;
  assert.match(await offered({}), /session_history/);
  assert.match(await offered({ tools: { offered: [WEATHER] } }), /Tools offered here: weather\.$/);
  assert.match(await offered({ tools: { offered: [] } }), /No tools are offered here\.$/);

  const message = 'weather {"city": "Oslo"}';
  const { result, frames } = await run(app.bus, { model: 'tools', message, tools: { offered: [WEATHER] } });
  const call = { callId: 'call_1', name: 'weather', arguments: '{"city": "Oslo"}' };
  assert.deepEqual(result, { response: '', tokensUsed: { input: 3, output: 1, total: 4 }, finishReason: 'tool_calls', toolCalls: [call] });
  assert.deepEqual(
    frames.map(({ type }) => type),
    ['accepted', 'step', 'done'],
  );
  const end = frames.at(-1);
  assert.deepEqual(end?.type === 'done' && end.result, result);
});

test('continues from the result of a caller’s tool', async () => {
  await using app = await testSessions(tools);
  const { result } = await run(app.bus, {
    model: 'tools',
    message: 'weather {"city":"Oslo"}',
    since: [
      { role: 'assistant', text: '', toolCalls: [{ callId: 'c', name: 'weather', arguments: '{"city":"Oslo"}' }] },
      { role: 'tool', callId: 'c', name: 'weather', text: 'rain' },
    ],
    tools: { offered: [WEATHER] },
  });
  assert.deepEqual([result.response, result.finishReason], ['I am dev/tools, the development model. weather answered: rain', 'stop']);
  assert.equal(result.toolCalls, undefined);
});

test('returns several calls together with the text before them, or one at a time on request', async () => {
  await using app = await testSessions(tools);
  const message = script({ text: 'Let me look. ' }, { tool: { name: 'a', input: { n: 1 } } }, { tool: { name: 'b' } });
  const handed = async (parallel?: boolean) => {
    const offered = { offered: [WEATHER], ...(parallel === undefined ? {} : { parallel }) };
    const { result } = await run(app.bus, { model: 'scripted', message, tools: offered });
    assert.equal(result.response, 'Let me look. ');
    return result.toolCalls?.map(({ name, arguments: text }) => `${name} ${text}`);
  };
  assert.deepEqual(await handed(), ['a {"n":1}', 'b {}']);
  assert.deepEqual(await handed(true), ['a {"n":1}', 'b {}']);
  assert.deepEqual(await handed(false), ['a {"n":1}']);
});

test('passes tool choice, stop sequences and response format to the model', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream);
  const format = { schema: { type: 'object' }, name: 'thing', strict: true };
  await run(app.bus, {
    model: 'default',
    message: 'hi',
    tools: { offered: [WEATHER], choice: { name: 'weather' } },
    stop: ['END'],
    format,
  });
  const { tools: sent, tool_choice, stop, response_format } = upstream.requests[0]?.body ?? assert.fail();
  assert.deepEqual(sent, [{ type: 'function', function: WEATHER }]);
  assert.deepEqual(tool_choice, { type: 'function', function: { name: 'weather' } });
  assert.deepEqual(stop, ['END']);
  assert.deepEqual(response_format, { type: 'json_schema', json_schema: { schema: { type: 'object' }, name: 'thing', strict: true } });
});

test('returns arguments as the model wrote them, JSON or not, and drops incomplete calls', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream);
  const request: RequestParams = { model: 'default', message: 'hi', tools: { offered: [WEATHER] } };
  for (const written of ['{ "id": 12345678901234567890 }', '{"city": oops']) {
    upstream.respond({ kind: 'tools', calls: [{ name: 'weather', arguments: written }] });
    const { result } = await run(app.bus, request);
    assert.deepEqual(result.toolCalls, [{ callId: 'call_up_0', name: 'weather', arguments: written }]);
  }
  upstream.respond({ kind: 'half-call', name: 'weather', arguments: '{"city":"Os', end: 'clean' });
  await assert.rejects(run(app.bus, request), { code: 'UNAVAILABLE' });
  upstream.respond({ kind: 'tools', calls: [{ name: 'weather', arguments: '{"city":"Os' }], text: 'Let me', finish: 'length' });
  const { result } = await run(app.bus, { ...request, maxTokens: 5 });
  assert.deepEqual([result.finishReason, result.toolCalls, result.response], ['output_starved', undefined, 'Let me']);
});

const complete = (bus: Bus, request: RequestParams, signal?: AbortSignal) =>
  bus.call('turns.complete', { turnId: getTurnId('complete'), ...request }, signal ? { signal } : {});

test('turns.complete returns one reply after the tools ran', async () => {
  await using app = await testSessions(tools);
  const content = await complete(app.bus, { model: 'default', message: 'hello' });
  assert.deepEqual([content.response, content.finishReason], ['I am dev/echo, the development model. You said: hello', 'stop']);
  const { response } = await complete(app.bus, { model: 'tools', message: 'session_history {}' });
  assert.match(response, /session_history answered/);
});

test('turns.complete requests a non-streaming completion and is cancelled with its caller', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'one two' }, { kind: 'stall' });
  await using app = await withUpstream(upstream);
  const { response } = await complete(app.bus, { model: 'default', message: 'hello' });
  assert.deepEqual([response, upstream.requests[0]?.body.stream], ['one two', false]);

  const leaving = new AbortController();
  const left = complete(app.bus, { model: 'default', message: 'hello' }, leaving.signal);
  upstream.respond({ kind: 'stall' });
  while (upstream.requests.length < 2) await app.bus.call('session.list', {});
  leaving.abort();
  await assert.rejects(left, { code: 'CANCELLED' });
  await upstream.abandoned;
});

test('a failure is retryable unless a tool ran', async () => {
  await using upstream = await startUpstream();
  await using app = await withUpstream(upstream);
  const refused = { kind: 'status', status: 429, headers: { 'retry-after': '100000' } } as const;
  const retryable = async () => {
    const failure = await complete(app.bus, { model: 'default', message: 'hello' }).catch((error: unknown) => error);
    assert.ok(failure instanceof ServiceError && failure.code === 'RESOURCE_EXHAUSTED');
    return failure.retryable;
  };
  upstream.respond(refused);
  assert.equal(await retryable(), true);
  upstream.respond({ kind: 'tools', calls: [{ name: 'session_history', arguments: '{}' }] }, refused);
  assert.equal(await retryable(), false);
});

test('the result says that the provider filtered or truncated the answer, after one request', async () => {
  for (const [finish, expected] of [
    ['content_filter', ['stop', true]],
    ['length', ['output_starved', undefined]],
  ] as const) {
    await using upstream = await startUpstream({ kind: 'text', text: 'half', finish });
    await using app = await withUpstream(upstream);
    const { result } = await run(app.bus, { model: 'default', message: 'hi', maxTokens: 5 });
    assert.deepEqual([result.finishReason, result.filtered, result.response], [...expected, 'half']);
    assert.equal(upstream.requests.length, 1);
  }
});

test('the result of an agent’s turn has no details of the model', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'half', finish: 'content_filter' });
  await using app = await withUpstream(upstream);
  const result = await app.bus.call('agent.execute', { message: 'hi' });
  assert.deepEqual([result.finishReason, 'filtered' in result], ['stop', false]);
});
