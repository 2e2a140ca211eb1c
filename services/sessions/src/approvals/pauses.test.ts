import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, type TestService } from '@switchyard/testkit';
import { ended, getTurnId, listen, testSessions } from '../sessions.fixture.ts';

const agents = { scripted: { model: 'dev/scripted' }, minimal: { model: 'dev/tools', skills: { toolPolicy: { profile: 'minimal' } } } };
const script = (...steps: object[]): string => JSON.stringify(steps);
const asking = (input: object) => script({ tool: { name: 'ask_user', input } }, { text: 'went on' });
const sleeping = (input: object) => script({ tool: { name: 'sleep_until', input } }, { text: 'awake' });
const QUESTION = { question: 'Which city?', options: ['Oslo', 'Rome'] };

const start = () => testSessions({ agents, timing: { pollMs: 20 } });

/** Starts a turn that asks its user, and returns the request. */
async function ask(app: TestService, name: string, input: object = QUESTION) {
  const turnId = getTurnId(name);
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: asking(input), session: `default:test:${name}` });
  await received.until('approval');
  const say = async (message: string) =>
    (await app.bus.call('agent.execute', { agentId: 'scripted', message, sessionKey: { userId: 'test', channelId: name } })).response;
  return { turnId, received, request: await app.nextEvent('approval:requested'), say };
}

test('ask_user parks the turn, shows the question, and continues with the next message of the session', async () => {
  await using app = await start();
  const { turnId, received, request, say } = await ask(app, 'plain');
  assert.deepEqual([request.action, request.params], ['ask_user', QUESTION]);
  const shown = received.frames.find((frame) => frame.type === 'approval');
  assert.deepEqual(shown && [shown.question, shown.options], [QUESTION.question, QUESTION.options]);
  assert.equal(await say('Oslo'), 'Answered.');
  await received.until('done');
  assert.equal((await ended(app.bus, turnId)).result?.response, 'went on');
  const { messages } = await app.bus.call('session.history', { session_key: request.sessionKey });
  assert.equal(messages.length, 2);
});

test('/answer answers as a plain message does, and only once', async () => {
  await using app = await start();
  const { received, say } = await ask(app, 'command');
  assert.equal(await say('/answer'), 'Write the answer after /answer.');
  assert.equal(await say('/answer Rome'), 'Answered.');
  await received.until('done');
  assert.equal(await say('/answer Oslo'), 'No question waits for an answer in this session.');
});

test('/skill is a message for a later turn and answers no question', async () => {
  await using app = await start();
  const { request, received, say } = await ask(app, 'skill');
  const sessionKey = { userId: 'test', channelId: 'skill' };
  const later = await app.bus.call('agent.start', { agentId: 'scripted', message: '/skill:weather Oslo', sessionKey });
  const { requests } = await app.bus.call('admin.approval.pending', {});
  assert.deepEqual(
    requests.map(({ requestId }) => requestId),
    [request.requestId],
  );
  await app.bus.call('agent.cancel', { turnId: later.turnId });
  assert.equal(await say('Oslo'), 'Answered.');
  await received.until('done');
});

test('an operator answers or declines a question with admin.approval.resolve', async () => {
  await using app = await start();
  const { received, request } = await ask(app, 'operator');
  const id = request.requestId;
  await assert.rejects(app.bus.call('admin.approval.resolve', { id, approved: true }), { code: 'INVALID_ARGUMENT' });
  assert.equal((await app.bus.call('admin.approval.resolveAll', { approved: true })).resolved, 0);
  await app.bus.call('admin.approval.resolve', { id, approved: true, answer: 'Rome' });
  await received.until('done');
  await assert.rejects(app.bus.call('admin.approval.resolve', { id, approved: true, answer: 'Oslo' }), { code: 'FAILED_PRECONDITION' });
  const declined = await ask(app, 'declined');
  await app.bus.call('admin.approval.resolve', { id: declined.request.requestId, approved: false });
  await declined.received.until('done');
});

test('a question without an answer in time lets the turn continue', async () => {
  await using app = await start();
  const { received } = await ask(app, 'unanswered', { ...QUESTION, timeoutMs: 1_000 });
  const frames = await received.until('done');
  assert.deepEqual(
    frames.flatMap((frame) => (frame.type === 'tool' ? [frame.state] : [])),
    ['called', 'called', 'succeeded'],
  );
});

test('a message of another session or of a client that may not use the session answers nothing', async () => {
  await using app = await start();
  const { request, received, say } = await ask(app, 'other');
  await app.bus.call('agent.execute', {
    agentId: 'scripted',
    message: script({ text: 'hi' }),
    sessionKey: { userId: 'test', channelId: 'x' },
  });
  const restricted = app.bus.as({ ...principal(), client: 'stranger', sessions: 'own' });
  const sessionKey = { userId: 'test', channelId: 'other' };
  await assert.rejects(restricted.call('agent.execute', { agentId: 'scripted', message: 'Oslo', sessionKey }));
  const { requests } = await app.bus.call('admin.approval.pending', {});
  assert.deepEqual(
    requests.map(({ requestId }) => requestId),
    [request.requestId],
  );
  await say('Rome');
  await received.until('done');
});

test('the question of a cancelled turn is withdrawn, and the next message starts a turn', async () => {
  await using app = await start();
  const { received, say } = await ask(app, 'cancelled');
  assert.match(await say('/stop'), /^Stopped/);
  await received.until('error');
  assert.equal(await say(script({ text: 'new turn' })), 'new turn');
});

test('agent.execute says before its deadline that the turn waits for an answer', async () => {
  await using app = await start();
  const failure = app.bus.call('agent.execute', { agentId: 'scripted', message: asking(QUESTION) }, { timeoutMs: 1_500 });
  await assert.rejects(failure, ({ code, details }) => code === 'DEADLINE_EXCEEDED' && details.reason === 'ANSWER_PENDING');
});

test('sleep_until releases the session and continues at its time', async () => {
  await using app = await start();
  const turnId = getTurnId('sleeper');
  const received = listen(app.bus, turnId);
  const before = Date.now();
  await app.bus.call('turns.start', {
    turnId,
    agentId: 'scripted',
    message: sleeping({ afterMs: 1_000 }),
    session: 'default:test:sleeper',
  });
  await received.until('done');
  assert.ok(Date.now() - before >= 1_000);
  assert.equal((await ended(app.bus, turnId)).result?.response, 'awake');
  assert.equal(
    received.frames.some((frame) => frame.type === 'approval'),
    false,
  );
});

test('sleep_until returns at once for a time in the past and refuses one that is too far away', async () => {
  await using app = await start();
  const call = async (input: object) => {
    const turnId = getTurnId(`sleep${Object.values(input).join('').replaceAll(/\W/g, '').slice(0, 15)}`);
    const received = listen(app.bus, turnId);
    await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: sleeping(input) });
    const frames = await received.until('done');
    return frames.flatMap((frame) => (frame.type === 'tool' ? [frame.state] : []));
  };
  assert.deepEqual(await call({ at: '2020-01-01T00:00:00Z' }), ['called', 'succeeded']);
  assert.deepEqual(await call({ at: '2999-01-01T00:00:00Z' }), ['called', 'failed']);
  assert.deepEqual(await call({ at: 'tomorrow' }), ['called', 'failed']);
  assert.deepEqual(await call({}), ['called', 'failed']);
});

test('tool policies offer ask_user in the profile minimal, and a stateless turn has neither tool', async () => {
  await using app = await start();
  const { response } = await app.bus.call('agent.execute', { agentId: 'minimal', message: 'which?' });
  assert.match(response, /ask_user/);
  assert.doesNotMatch(response, /sleep_until/);
  const stateless = await app.bus.call('turns.complete', { turnId: getTurnId('stateless'), model: 'minimal', message: 'which?' });
  assert.doesNotMatch(stateless.response, /ask_user/);
});
