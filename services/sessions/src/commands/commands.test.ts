import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal, type TestService } from '@switchyard/testkit';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';

async function sendMessage(app: TestService, message: string) {
  const { response, finishReason, tokensUsed } = await app.bus.call('agent.execute', { message });
  return { response, finishReason, total: tokensUsed.total };
}

const history = async (app: TestService) =>
  (await app.bus.call('session.history', { session_key: KEY })).messages.map(({ content }) => content);

test('answers a command without a model call and leaves the history unchanged', async () => {
  await using app = await testSessions({ as: admin });
  await sendMessage(app, 'hello');
  const before = await history(app);
  for (const [command, answer] of [
    ['/status', /^Agent: Switchyard \(default\)\nModel: dev\/echo\nSession: default:test:gateway\nMessages: 2\n/],
    ['/usage', /^Tokens: \d+ \(1 in, \d+ out\)\nCost: 0\.0000 USD$/],
    ['/context', /^The context of the next turn contains the last 1 exchanges: \d+ characters, 0 % of the history limit/],
    ['/config set gateway.port 1', /^Settings cannot be shown or changed in a conversation/],
    ['/think', /takes off, minimal.*no effect yet/],
    ['/budget lots', /^\/budget needs/],
    ['/fork', /^\/fork is not implemented yet\.$/],
  ] as const) {
    const { response, finishReason, total } = await sendMessage(app, command);
    assert.match(response, answer);
    assert.deepEqual([finishReason, total], ['command', 0], command);
  }
  assert.deepEqual(await history(app), before);
  assert.match((await sendMessage(app, '/etc/hosts is a file')).response, /You said: \/etc\/hosts/, 'a path is no command');
});

test('session.send, agent.stream and turns.start accept commands', async () => {
  await using app = await testSessions({ as: admin });
  assert.equal((await app.bus.call('session.send', { key: KEY, message: '/usage' })).finishReason, 'command');
  assert.equal((await app.bus.call('agent.stream', { message: '/usage' })).finishReason, 'command');
  const turnId = getTurnId('streamed');
  const receivedMessage = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, message: '/usage' });
  const frames = await receivedMessage.until('done');
  assert.deepEqual(
    frames.map(({ type }) => type),
    ['accepted', 'delta', 'done'],
  );
});

for (const command of ['/new', '/reset']) {
  test(`${command} resets the session once and publishes session:expired`, async () => {
    await using app = await testSessions({ as: admin });
    await sendMessage(app, 'one');
    const expired = app.nextEvent('session:expired');
    const request = { message: command, idempotencyKey: 'k' };
    const first = await app.bus.call('agent.execute', request);
    assert.equal(first.finishReason, 'session_reset');
    assert.equal((await expired).reason, 'gateway-reset');
    assert.deepEqual(await history(app), []);
    await sendMessage(app, 'two');
    assert.deepEqual(await app.bus.call('agent.execute', request), first, 'asked again under its key');
    assert.deepEqual((await history(app))[0], 'two');
    assert.equal((await app.bus.call('session.list', {})).sessions[0]?.messageCount, 2);
  });
}

test('runs /reset in queue order, after the turns before it', async () => {
  await using app = await testSessions({ as: admin, agents: { default: { model: 'dev/scripted' } } });
  const first = await app.bus.call('agent.start', { message: '[{"wait":100},{"text":"one"}]' });
  const reset = await app.bus.call('agent.start', { message: '/reset' });
  const last = await app.bus.call('agent.start', { message: '[{"text":"two"}]' });
  for (const { turnId } of [first, reset, last]) assert.equal((await ended(app.bus, turnId)).state, 'done');
  assert.deepEqual(await history(app), ['[{"text":"two"}]', 'two']);
});

test('/stop cancels running and queued turns even when the queue is full', async () => {
  const settings = { queue: { defaultOverflow: { maxDepth: 2 } } };
  await using app = await testSessions({ as: admin, settings, agents: { default: { model: 'dev/scripted' } } });
  const begun: string[] = [];
  for (let n = 0; n < 3; n += 1) begun.push((await app.bus.call('agent.start', { message: '[{"wait":60000}]' })).turnId);
  assert.match((await sendMessage(app, '/stop')).response, /^Stopped/);
  for (const turnId of begun) assert.equal((await ended(app.bus, turnId)).state, 'cancelled');
});

test('/stop does not cancel turns of another client', async () => {
  await using app = await testSessions({ as: admin, agents: { default: { model: 'dev/scripted' } } });
  const other = app.bus.as(principal({ client: 'other', scopes: ['*'] }));
  const { turnId } = await other.call('agent.start', { message: '[{"wait":200},{"text":"x"}]', sessionKey: { userId: 'lobby' } });
  await app.bus.call('agent.execute', { message: '/stop', sessionKey: { userId: 'lobby' } });
  assert.equal((await ended(other, turnId)).state, 'done');
});

test('/model changes the model of the session and not of the agent', async () => {
  await using app = await testSessions({ as: admin });
  const { response } = await sendMessage(app, '/model list');
  assert.match(response, /^\* dev\/echo$/m);
  assert.match(response, /^ {2}dev\/slow$/m);
  assert.match((await sendMessage(app, '/model switch nobody nothing')).response, /^Unknown model nobody\/nothing\./);
  assert.match((await sendMessage(app, '/model switch dev slow')).response, /^This session now uses dev\/slow\./);
  assert.match((await sendMessage(app, 'x')).response, /^I am dev\/slow/);
  assert.match((await app.bus.call('agent.execute', { message: 'x', sessionKey: { userId: 'else' } })).response, /^I am dev\/echo/);
  const cycled = (await sendMessage(app, '/model cycle')).response;
  assert.match(cycled, /^This session now uses dev\/\w+\./);
  assert.match((await sendMessage(app, '/status')).response, new RegExp(`Model: ${/dev\/\w+/.exec(cycled)?.[0]}`));
});

test('/budget limits one turn: the message after it or the next turn', async () => {
  await using app = await testSessions({ as: admin });
  const long = 'w '.repeat(49_000);
  assert.equal((await sendMessage(app, `/budget 10k ${long}`)).finishReason, 'budget_exhausted');
  assert.equal((await sendMessage(app, 'short')).finishReason, 'stop');
  assert.match((await sendMessage(app, '/budget 10k')).response, /^The next turn may use 10000 tokens/);
  assert.equal((await sendMessage(app, '/status')).finishReason, 'command', 'a command uses none of it');
  assert.equal((await sendMessage(app, long)).finishReason, 'budget_exhausted');
  assert.equal((await sendMessage(app, 'short')).finishReason, 'stop');
});

test('removes directives without effect from the text for the model', async () => {
  await using app = await testSessions({ as: admin });
  assert.match((await sendMessage(app, '/think high tell me')).response, /You said: tell me$/);
});

test('/export returns the transcript', async () => {
  await using app = await testSessions({ as: admin });
  assert.equal((await sendMessage(app, '/export')).response, 'This conversation is still empty.');
  await sendMessage(app, 'hello');
  assert.match(
    (await sendMessage(app, '/export talk.md')).response,
    /not implemented yet.*\*\*user\*\* \(.*\)\n\nhello\n\n\*\*assistant\*\*/s,
  );
});

test('runs a command after the running turn instead of merging it', async () => {
  const settings = { queue: { defaultMode: 'collect' as const } };
  await using app = await testSessions({ as: admin, settings, agents: { default: { model: 'dev/scripted' } } });
  await app.bus.call('agent.start', { message: '[{"wait":100},{"text":"one"}]' });
  await app.bus.call('agent.start', { message: '[{"text":"two"}]' });
  assert.equal((await sendMessage(app, '/usage')).finishReason, 'command');
});
