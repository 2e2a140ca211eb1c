import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type TokenScope } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { principal, startUpstream } from '@switchyard/testkit';

import { listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const tools = { agents: { tools: { model: 'dev/tools' }, scripted: { model: 'dev/scripted' } } };
const script = (...steps: object[]): string => JSON.stringify(steps);

const failsWith =
  (reason: string) =>
  (error: unknown): boolean =>
    error instanceof ServiceError && error.code === 'DEADLINE_EXCEEDED' && error.details.reason === reason;

test('offers the tools that the scopes allow; requested scopes never widen them', async () => {
  await using app = await testSessions(tools);
  const offered = async (held: TokenScope[], scopes?: TokenScope[]) => {
    const bus = app.bus.as(principal({ client: held.join('-') || 'none', scopes: held }));
    const { response } = await bus.call('agent.execute', { agentId: 'tools', message: 'which?', ...(scopes ? { scopes } : {}) });
    return response.includes('session_history');
  };
  assert.equal(await offered(['rpc']), true);
  assert.equal(await offered(['rpc'], []), false);
  assert.equal(await offered(['rpc'], ['admin']), false);
  assert.equal(await offered(['rpc'], ['*']), true);
  assert.equal(await offered(['*'], ['rpc']), true);
  assert.equal(await offered(['*'], ['api']), false);
  assert.equal(await offered(['mcp-client']), false);
  assert.equal(await offered(['api']), false);
  assert.equal(await offered(['mcp-client'], ['rpc', '*']), false);
});

test('applies the agent’s tool policy in both spellings, and deny wins', async () => {
  const policy = (toolPolicy: object) => ({ model: 'dev/tools', skills: { toolPolicy } });
  await using app = await testSessions({
    agents: {
      denied: policy({ deny: ['session.history'] }),
      allowed: policy({ profile: 'minimal', allow: ['session_history', 'session.status'], deny: ['session_status'] }),
    },
  });
  const offered = async (agentId: string) => {
    const { response } = await app.bus.call('agent.execute', { agentId, message: 'which?' });
    return (response.split('Tools offered here: ')[1] ?? '').replace(/\.$/, '').split(', ');
  };
  assert.ok(!(await offered('denied')).includes('session_history'));
  assert.ok((await offered('denied')).includes('session_status'));
  assert.deepEqual((await offered('allowed')).toSorted(), ['ask_user', 'memory_search', 'session_history', 'session_search']);
});

test('truncates a result above the agent’s limit and says so', async () => {
  await using app = await testSessions({ agents: { default: {}, tools: { model: 'dev/tools', maxToolResultChars: 200 } } });
  await app.bus.call('agent.execute', { message: 'a long message '.repeat(100) });
  const { response } = await app.bus.call('agent.execute', {
    agentId: 'tools',
    message: 'session_history {"session_key":"default:test:gateway"}',
  });
  assert.match(response, /… \[truncated: \d+ of \d+ characters follow\. ctx_result \{.+\} returns the next part\.\]$/);
  assert.ok(response.length < 500, response);
});

test('returns an error to a model that calls an unknown tool or sends invalid arguments', async () => {
  await using app = await testSessions(tools);
  const message = script(
    { tool: { name: 'no_such_tool', input: {} } },
    { tool: { name: 'session_status', input: [1, 2] } },
    { tool: { name: 'session_status', input: '{"broken": ' } },
    { tool: { name: 'session_status', input: 'null' } },
    { tool: { name: 'session_status', input: '7' } },
    { text: 'went on' },
  );
  const turnId = getTurnId('oddtools');
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message });
  const frames = await received.until('done');
  const states = frames.flatMap((frame) => (frame.type === 'tool' && frame.state !== 'called' ? [frame.state] : []));
  assert.deepEqual(states, ['failed', 'failed', 'failed', 'failed', 'failed']);
  const end = frames.at(-1);
  assert.equal(end?.type === 'done' && end.result.response, 'went on');
});

test('ends a turn that exceeds its deadline, and its session continues', async () => {
  await using app = await testSessions({ ...tools, timing: { turnDeadlineMs: 150 } });
  const sendRequest = (message: string) => app.bus.call('agent.execute', { agentId: 'scripted', message });
  await assert.rejects(sendRequest(script({ text: 'half' }, { wait: 60_000 })), failsWith('TURN_TIMEOUT'));
  assert.deepEqual(await app.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' }), { messages: [] });
  assert.equal((await sendRequest(script({ text: 'next' }))).response, 'next');
});

test('applies the agent’s stall ceiling and emits an event', async () => {
  const promptTimeout = { promptTimeoutMs: 1_000, stallCeilingMultiplier: 0.15 };
  await using app = await testSessions({ agents: { scripted: { model: 'dev/scripted', promptTimeout } } });
  const request = app.bus.call('agent.execute', { agentId: 'scripted', message: script({ text: 'half' }, { wait: 60_000 }) });
  await assert.rejects(request, failsWith('TURN_TIMEOUT'));
  assert.equal((await app.nextEvent('execution:aborted')).reason, 'pipeline_timeout');
});

test('ends a turn with a finish reason for a silent model and for a spent budget', async () => {
  await using app = await testSessions({
    agents: {
      silent: { model: 'dev/scripted', promptTimeout: { promptTimeoutMs: 80 } },
      frugal: { model: 'dev/scripted', budgets: { perExecution: 1 } },
    },
  });
  await assert.rejects(app.bus.call('agent.execute', { agentId: 'silent', message: script({ wait: 60_000 }) }), failsWith('MODEL_STALLED'));
  const message = script({ text: 'let me see' }, { tool: { name: 'session_status', input: {} } }, { text: 'never said' });
  const spent = await app.bus.call('agent.execute', { agentId: 'frugal', message });
  assert.deepEqual([spent.finishReason, spent.response], ['budget_exceeded', 'let me see']);
});

test('stops a model that exceeds the turn budget at once and ends with budget_exceeded', async () => {
  const text = 'word '.repeat(100);
  await using upstream = await startUpstream({ kind: 'stall', text, afterTokens: 100 });
  await using app = await testSessions({
    settings: { providers: { entries: { lab: { type: 'openai-compatible', baseUrl: upstream.url } } } },
    agents: { default: { provider: 'lab', model: 'one', budgets: { perExecution: 20 }, concurrency: { maxConcurrentRuns: 1 } } },
  });
  const { finishReason, response, tokensUsed } = await app.bus.call('agent.execute', { message: 'hello' });
  assert.equal(finishReason, 'budget_exceeded');
  assert.ok(text.startsWith(response) && response.length > 160, response);
  assert.ok(tokensUsed.output > 20);
  await upstream.abandoned;
  upstream.respond({ kind: 'text', text: 'short' });
  assert.equal((await app.bus.call('agent.execute', { message: 'hello' })).response, 'short');
});

test('returns messages of any size and script unchanged, except lone surrogates and null bytes', async () => {
  const settings = { security: { input: { maxChars: 1_048_576 } } };
  await using app = await testSessions({ settings, agents: { long: { model: 'dev/echo', maxContextChars: 1_000 } } });
  for (const [at, message] of [' \n\t ', '👩‍👩‍👧‍👦 שלום \u0000 𝔘𝔫𝔦', 'lone \ud83d surrogate', `${'x'.repeat(999)} `.repeat(1_000)].entries()) {
    const sessionKey = { userId: `size${at}` };
    const { response } = await app.bus.call('agent.execute', { agentId: 'long', message, sessionKey });
    assert.ok(response.includes('You said:'), response.slice(0, 100));
    const { messages } = await app.bus.call('session.history', { session_key: `agent:long:default:size${at}:gateway` });
    assert.equal(messages[0]?.content, message.replace('\0', '').toWellFormed());
    // A message above the context limit of the agent is not sent to its model again.
    const next = await app.bus.call('agent.execute', { agentId: 'long', message: 'and', sessionKey });
    assert.equal(next.tokensUsed.input < 50, true, `${next.tokensUsed.input} tokens of context`);
  }
});

test('a context too small for all exchanges contains the latest ones completely', async () => {
  await using app = await testSessions({ agents: { short: { model: 'dev/echo', maxContextChars: 100 } } });
  const ask = async (message: string) => (await app.bus.call('agent.execute', { agentId: 'short', message })).tokensUsed.input;
  assert.equal(await ask('one two'), 2);
  // The first exchange (2 + 10 words) and three words of its own.
  assert.equal(await ask('three four five'), 15);
  // The second exchange (3 + 11 words) fits beside it, the first no more.
  assert.equal(await ask('six'), 15);
});

test('accepts sessions with unusual names', async () => {
  await using app = await testSessions({ agents: { scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 1 } } } });
  const names = ['a:b', ':', '::', 'peer', 'thread:peer', 'agent', '.', '..', '--', '@', '__proto__', 'constructor', '0'];
  const answers = await Promise.all(
    names.map((userId, at) =>
      app.bus.call(
        'agent.execute',
        { agentId: 'scripted', message: script({ wait: 5 }, { text: `to ${at}` }), sessionKey: { userId, channelId: userId } },
        { timeoutMs: 4_000 },
      ),
    ),
  );
  assert.deepEqual(
    answers.map(({ response }) => response),
    names.map((_, at) => `to ${at}`),
  );
  for (const { sessionKey } of answers) {
    assert.equal((await app.bus.call('session.history', { session_key: sessionKey ?? '' })).messages.length, 2, JSON.stringify(sessionKey));
    const again = await app.bus.call('session.send', { key: sessionKey ?? '', agentId: 'scripted', message: script({ text: 'again' }) });
    assert.equal(again.sessionKey, sessionKey);
  }
});

test('rejects names that are not valid ids', async () => {
  await using app = await testSessions();
  for (const channelId of ['\ud800', 'a%3Ab', 'nul\u0000l', '💥', ' ', '$where', "'; DROP TABLE c_turns; --", ''])
    await assert.rejects(app.bus.call('agent.execute', { message: 'hello', sessionKey: { channelId } }), { code: 'INVALID_ARGUMENT' });
  assert.equal((await app.bus.call('session.list', {})).total, 0);
});

test('rejects a session key that is too long before anything is written', async () => {
  await using app = await testSessions();
  await assert.rejects(app.bus.call('session.send', { key: 'x'.repeat(2_048), message: 'hello' }), { code: 'INVALID_ARGUMENT' });
  const colons = ':'.repeat(128);
  const sessionKey = { userId: colons, channelId: `${colons.slice(1)}x`, peerId: colons, guildId: colons, threadId: colons };
  const answer = await app.bus.call('agent.execute', { message: 'hello', sessionKey });
  assert.equal(answer.sessionKey?.startsWith('default:%3A'), true);
  assert.equal((await app.bus.call('session.list', {})).total, 1);
});

test('rejects an idempotency key that cannot be an HTTP header', async () => {
  await using app = await testSessions();
  const ask = (idempotencyKey: string) => app.bus.call('agent.execute', { message: 'hello', idempotencyKey });
  for (const odd of ['', ' ', 'two words', '\ud800', '\u0000', 'k'.repeat(257)]) {
    await assert.rejects(ask(odd), { code: 'INVALID_ARGUMENT', message: /^Invalid params: idempotencyKey: expected / });
  }
  const longest = '~'.repeat(256);
  assert.deepEqual(await ask(longest), await ask(longest));
  assert.equal((await app.bus.call('session.history', {})).messages.length, 2);
});

test('agent.stream answers in one piece, with a warning', async () => {
  const lines: string[] = [];
  await using app = await testSessions({
    log: createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } }),
  });
  assert.match((await app.bus.call('agent.stream', { message: 'hello' })).response, /You said: hello/);
  assert.match(lines.join(''), /agent\.stream returns the response in one part/);
});

test('session.status describes the caller’s own session, or the agent that would answer', async () => {
  await using app = await testSessions({ agents: { default: { name: 'Ada' } } });
  await app.bus.as(principal({ client: 'somebody' })).call('agent.execute', { message: 'hello' });
  assert.deepEqual(await app.bus.call('session.status', {}), {
    model: 'dev/echo',
    agentName: 'Ada',
    tokensUsed: { totalTokens: 0, totalCost: 0 },
    stepsExecuted: 0,
    maxSteps: 150,
  });
});
