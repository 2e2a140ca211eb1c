import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { jsonRpcCode, subjects, ServiceError, type TurnFrame } from '@switchyard/contracts';
import { tempDir, principal } from '@switchyard/testkit';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const script = (...steps: object[]): string => JSON.stringify(steps);
const scripted = {
  agents: {
    scripted: { model: 'dev/scripted' },
    slow: { model: 'dev/slow' },
    tools: { model: 'dev/tools' },
    flaky: { model: 'dev/flaky' },
  },
};

test('answers a turn and stores both messages in the history', async () => {
  await using app = await testSessions({ as: principal({ client: 'alice', scopes: ['*'] }) });
  const answer = await app.bus.call('agent.execute', { message: 'hello' });
  assert.deepEqual(answer, {
    response: 'I am dev/echo, the development model. You said: hello',
    tokensUsed: { input: 1, output: 9, total: 10 },
    finishReason: 'stop',
    sessionKey: 'default:alice:gateway',
  });
  const { messages } = await app.bus.call('session.history', {});
  assert.deepEqual(
    messages.map(({ role, content }) => ({ role, content })),
    [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: answer.response },
    ],
  );
  assert.deepEqual((await app.nextEvent('session:created')).sessionKey, { tenantId: 'default', userId: 'alice', channelId: 'gateway' });
  assert.equal((await app.nextEvent('message:received')).message.text, 'hello');
  assert.equal((await app.nextEvent('message:sent')).content, answer.response);
  assert.equal((await app.nextEvent('observability:token_usage')).tokens.total, 10);
});

test('numbers frames from 0 without gaps, and their text is the answer', async () => {
  await using app = await testSessions();
  const turnId = getTurnId('frames');
  const received = listen(app.bus, turnId);
  const accepted = await app.bus.call('turns.start', { turnId, message: 'one two three' });
  assert.equal(accepted.turnId, turnId);
  const frames = await received.until('done');
  assert.deepEqual(
    frames.map(({ n }) => n),
    frames.map((_, at) => at),
  );
  assert.equal(frames[0]?.type, 'accepted');
  const content = frames.flatMap((frame) => (frame.type === 'delta' ? [frame.text] : []));
  assert.ok(content.length > 1, 'an answer of many tokens came as one');
  const done = frames.at(-1);
  assert.equal(done?.type === 'done' && done.result.response, content.join(''));
  const resumed = await app.bus.call('turns.resume', { turnId });
  assert.deepEqual([resumed.state, resumed.lastFrame], ['done', done?.n]);
});

test('publishes few text frames without readers, and every piece after a reader follows', async () => {
  await using app = await testSessions({ agents: { slow: { model: 'dev/slow' } } });
  const frames: TurnFrame[] = [];
  app.host.bus.subscribe(subjects.turns, ({ data }) => void frames.push(JSON.parse(Buffer.from(data).toString()) as TurnFrame));
  const getText = (): string[] => frames.flatMap((frame) => (frame.type === 'delta' ? [frame.text] : []));
  const whole = await app.bus.call('agent.execute', { message: 'one two three four five six seven eight' });
  assert.deepEqual(getText(), [whole.response]);
  assert.deepEqual(
    frames.map(({ n }) => n),
    frames.map((_, at) => at),
  );

  frames.length = 0;
  const answer = app.bus.call('agent.execute', { agentId: 'slow', message: 'one two three four five six seven eight' });
  const accepted = await listenOnce(app.host.bus);
  await app.bus.call('turns.resume', { turnId: accepted });
  const { response } = await answer;
  assert.ok(getText().length > 5, 'who follows it waits for pieces');
  assert.equal(getText().join(''), response);
});

/** The next turn that is told of. */
async function listenOnce(bus: Bus): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const subscription = bus.subscribe(subjects.turns, ({ data }) => {
    const frame = JSON.parse(Buffer.from(data).toString()) as TurnFrame;
    if (frame.type === 'accepted') resolve(frame.turnId);
  });
  const turnId = await promise;
  subscription.unsubscribe();
  return turnId;
}
test('returns the complete output of a finished turn, step by step, to readers that missed frames', async () => {
  await using app = await testSessions(scripted);
  const turnId = getTurnId('whole');
  const message = script({ text: 'first ' }, { tool: { name: 'session_history' } }, { text: 'then' });
  await app.bus.call('turns.start', { turnId, message, agentId: 'scripted' });
  const { result, soFar, lastFrame } = await ended(app.bus, turnId);
  assert.equal(result?.response, 'then');
  assert.deepEqual([soFar?.text, soFar?.frame], ['first then', lastFrame]);

  const silent = getTurnId('silent');
  await app.bus.call('turns.start', {
    turnId: silent,
    message: script({ text: 'first' }, { tool: { name: 'session_history' } }),
    agentId: 'scripted',
  });
  const { result: first, soFar: whole } = await ended(app.bus, silent);
  assert.deepEqual([first?.response, whole?.text], ['first', 'first']);
});

test('a resumed turn waits until the model registry is available', async () => {
  await using dir = await tempDir();
  const turnId = getTurnId('waits');
  const options = { ...scripted, data: dir.path, settings: { daemon: { shutdownTimeoutMs: 400 } } };
  {
    await using app = await testSessions(options);
    await app.bus.call('turns.start', { turnId, message: script({ wait: 1_000 }, { text: 'here' }), agentId: 'scripted' });
  }
  let request = 0;
  const secret = (): { value: null } => {
    request += 1;
    if (request < 3)
      throw new ServiceError('UNAVAILABLE', 'The secrets service does not answer.', { details: { reason: 'NO_RESPONDERS' } });
    return { value: null };
  };
  await using app = await testSessions({ ...options, secret });
  const { state, result, failure } = await ended(app.bus, turnId);
  assert.deepEqual([state, result?.response, failure], ['done', 'here', undefined]);
  assert.ok(request >= 3);
});

test('only the client that started a turn can read it', async () => {
  await using app = await testSessions();
  const turnId = getTurnId('mine');
  await app.bus.call('turns.start', { turnId, message: 'hello' });
  for (const other of [principal({ client: 'bob' }), principal({ tenant: 'acme' })]) {
    await assert.rejects(app.bus.as(other).call('turns.resume', { turnId }), { code: 'NOT_FOUND' });
  }
});

test('turns of one session run in order of acceptance', async () => {
  await using app = await testSessions(scripted);
  const ids = ['a', 'b', 'c', 'd'].map(getTurnId);
  const received = ids.map((id) => listen(app.bus, id));
  for (const [at, turnId] of ids.entries()) {
    await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: script({ wait: 20 }, { text: `answer ${at}` }) });
  }
  await Promise.all(received.map((turn) => turn.until('done')));
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' });
  assert.deepEqual(
    messages.filter(({ role }) => role === 'assistant').map(({ content }) => content),
    ['answer 0', 'answer 1', 'answer 2', 'answer 3'],
  );
});

test('limits the queue of a session', async () => {
  const settings = { queue: { defaultOverflow: { maxDepth: 2 } }, daemon: { shutdownTimeoutMs: 300 } };
  await using app = await testSessions({ ...scripted, settings });
  const wait = script({ wait: 60_000 }, { text: 'done' });
  const start = (name: string) => app.bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message: wait });
  await start('1');
  await start('2');
  await start('3');
  await assert.rejects(start('4'), (error: ServiceError) => {
    assert.deepEqual([error.code, error.details], ['RESOURCE_EXHAUSTED', { reason: 'QUEUE_FULL', retryAfterMs: 1_000 }]);
    return jsonRpcCode(error) === -32603;
  });
});

test('sessions do not wait for each other', async () => {
  await using app = await testSessions(scripted);
  const slow = listen(app.bus, getTurnId('slow'));
  await app.bus.call('turns.start', { turnId: getTurnId('slow'), agentId: 'slow', message: 'take your time' });
  await app.bus.call('agent.execute', { message: 'quick', sessionKey: { userId: 'other' } });
  assert.ok(!slow.frames.some(({ type }) => type === 'done'));
  await slow.until('done');
});

test('turns beyond the slots of an agent wait and all run', async () => {
  await using app = await testSessions({ agents: { default: { concurrency: { maxConcurrentRuns: 2 } } } });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => app.bus.call('agent.execute', { message: `number ${at}`, sessionKey: { userId: `user${at}` } })),
  );
  assert.deepEqual(
    answers.map(({ response }) => response.split('You said: ')[1]),
    Array.from({ length: 12 }, (_, at) => `number ${at}`),
  );
});

test('a retry with an idempotency key returns the same turn', async () => {
  await using app = await testSessions();
  const sendRequest = (message: string) => app.bus.call('agent.execute', { message, idempotencyKey: 'key-1' });
  const [first, second] = await Promise.all([sendRequest('once'), sendRequest('once')]);
  assert.deepEqual(second, first);
  assert.deepEqual(await sendRequest('once'), first);
  assert.equal((await app.bus.call('session.history', {})).messages.length, 2);
  await assert.rejects(sendRequest('something else'), { code: 'INVALID_ARGUMENT', message: /idempotency key/ });
});

test('a failed model call ends the turn with its error and leaves nothing in the history', async () => {
  await using app = await testSessions(scripted);
  const turnId = getTurnId('fails');
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', {
    turnId,
    agentId: 'scripted',
    message: script({ text: 'half an ' }, { error: { status: 500, message: 'boom' } }),
  });
  const end = (await received.until('error')).at(-1);
  assert.equal(end?.type === 'error' && end.error.code, 'UNAVAILABLE');
  assert.deepEqual(await app.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' }), { messages: [] });
  assert.equal((await app.bus.call('turns.resume', { turnId })).state, 'failed');
  await app.bus.call('agent.execute', { agentId: 'scripted', message: script({ text: 'the lane is free' }) });
});

test('a truncated model stream is an error, never a short answer', async () => {
  await using app = await testSessions(scripted);
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map((at) => app.bus.call('agent.execute', { agentId: 'flaky', message: 'hello', sessionKey: { userId: `u${at}` } })),
  );
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [(outcome.reason as Error).message] : []));
  const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.response] : []));
  assert.ok(failures.length >= 1, 'nothing failed');
  for (const answer of answers) assert.equal(answer, 'I am dev/flaky, the development model. You said: hello');
});

const KEY = 'default:carol:gateway';

test('an agent uses a tool within its caller’s scopes, and the model reads the result', async () => {
  await using app = await testSessions({ ...scripted, as: principal({ client: 'carol', scopes: ['rpc'] }) });
  await app.bus.call('agent.execute', { message: 'remember this' });
  const { response } = await app.bus.call('agent.execute', { agentId: 'tools', message: `session_history {"session_key":"${KEY}"}` });
  assert.match(response, /remember this/);
  const refused = await app.bus.call('agent.execute', { agentId: 'tools', message: 'session_history {"nonsense":1}' });
  assert.match(refused.response, /INVALID_ARGUMENT.*nonsense/);
  const narrowed = await app.bus.call('agent.execute', {
    agentId: 'tools',
    scopes: [],
    message: `session_history {"session_key":"${KEY}"}`,
  });
  assert.doesNotMatch(narrowed.response, /remember this/);
});

test('rejects unknown, deleted and suspended agents with different errors', async () => {
  await using app = await testSessions({ agents: { asleep: {} }, suspended: ['asleep'] });
  const ask = (agentId: string) => app.bus.call('agent.execute', { message: 'hello', agentId });
  await assert.rejects(ask('nobody'), { code: 'INVALID_ARGUMENT', message: 'Unknown agent: nobody' });
  const sent = app.bus.call('session.send', { key: 'default:me:gateway', agentId: 'nobody', message: 'hello' });
  await assert.rejects(sent, { code: 'INVALID_ARGUMENT', message: 'Unknown agent: nobody' });
  await assert.rejects(ask('asleep'), { code: 'FAILED_PRECONDITION', details: { reason: 'AGENT_SUSPENDED' } });
  await assert.rejects(app.bus.call('session.send', { key: 'agent:gone:default:me:gateway', message: 'hello' }), {
    code: 'FAILED_PRECONDITION',
    details: { reason: 'AGENT_DELETED' },
  });
});

test('resolves ${NAME} in an agent’s model and does not expose its value', async () => {
  const agents = { default: { model: '${MODEL}', name: '${MODEL}' } };
  await using app = await testSessions({ agents, env: { MODEL: 'dev/scripted' } });
  assert.equal((await app.bus.call('agent.execute', { message: script({ text: 'hi' }) })).response, 'hi');
  const { model, agentName } = await app.bus.call('session.status', {});
  assert.deepEqual([model, agentName], ['dev/scripted', '${MODEL}']);
});

test('session ids contain 1 to 128 letters, digits and . _ : @ -', async () => {
  await using app = await testSessions();
  const send = (key: string) => app.bus.call('session.send', { key, message: 'hello' });
  for (const key of ['web:main', 'default:ada@example.com:web']) assert.equal((await send(key)).finishReason, 'stop');
  const refused = { code: 'INVALID_ARGUMENT', message: /^Invalid params: sessionKey\.(channelId|userId): expected 1 to 128 letters/ };
  for (const key of ['web main', 'x'.repeat(129), 'default:a b:web', 'default:ada:web/1']) await assert.rejects(send(key), refused, key);
});

test('a stateless turn streams its frames, has no history and stores nothing', async () => {
  await using app = await testSessions();
  const frames = [];
  for await (const frame of app.bus.stream('turns.run', { turnId: getTurnId('v1'), model: 'dev/echo', message: 'hello' }))
    frames.push(frame);
  assert.deepEqual(
    frames.map(({ n }) => n),
    frames.map((_, at) => at),
  );
  assert.equal(frames.at(-1)?.type, 'done');
  assert.deepEqual(await app.bus.call('session.list', {}), { sessions: [], total: 0 });
});

test('returns NOT_FOUND with the documented text for an unknown model', async () => {
  await using app = await testSessions();
  await assert.rejects(app.bus.stream('turns.run', { turnId: getTurnId('none'), model: 'nobody/nothing', message: 'x' }).next(), {
    code: 'NOT_FOUND',
    message: 'Model not found',
  });
});

test('a step limit ends a turn with max_steps', async () => {
  await using app = await testSessions({ agents: { busy: { model: 'dev/scripted', maxSteps: 1 } } });
  const message = script({ text: 'let me see' }, { tool: { name: 'session_status', input: {} } }, { text: 'never said' });
  assert.equal((await app.bus.call('agent.execute', { agentId: 'busy', message })).finishReason, 'max_steps');
});

test('turns of a stopped process continue in order after a restart', async () => {
  await using data = await tempDir();
  const turnId = getTurnId('later');
  const long = getTurnId('long');
  const settings = { daemon: { shutdownTimeoutMs: 100 } };
  {
    await using app = await testSessions({ ...scripted, data: data.path, settings });
    const waits = listen(app.bus, long);
    await app.bus.call('turns.start', { turnId: long, agentId: 'scripted', message: script({ wait: 400 }, { text: 'it ran again' }) });
    await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: script({ text: 'here I am' }) });
    await waits.until('step');
  }
  await using again = await testSessions({ ...scripted, data: data.path });
  const states = [(await ended(again.bus, turnId)).state, (await ended(again.bus, long)).state];
  assert.deepEqual(states, ['done', 'done']);
  const { messages } = await again.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' });
  assert.deepEqual([messages[1]?.content, messages[3]?.content], ['it ran again', 'here I am']);
});
