import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { CONFIG_BUCKET, type ConfigurationPatch } from '@switchyard/contracts';
import { principal, type TestService } from '@switchyard/testkit';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const script = (...steps: object[]): string => JSON.stringify(steps);
const answer = (text: string, wait = 0): string => script({ wait }, { text });
const agents = { scripted: { model: 'dev/scripted' }, echo: { model: 'dev/echo' } };
const KEY = 'agent:scripted:default:test:gateway';
/** Until it is cancelled, when what comes behind it is accepted. */
const ENDLESS = answer('never', 60_000);

function withQueue(queue: ConfigurationPatch['queue'], options: object = {}) {
  return testSessions({ agents, settings: { queue }, ...options });
}

/** Begins a turn; the next one is behind it. */
function start({ bus }: Pick<TestService, 'bus'>, name: string, message: string, more: object = {}) {
  return bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message, ...more });
}

async function goOn({ bus }: TestService, name = 'a'): Promise<void> {
  await bus.call('agent.cancel', { turnId: getTurnId(name) });
}

async function readText({ bus }: Pick<TestService, 'bus'>, session_key = KEY): Promise<string[]> {
  const { messages } = await bus.call('session.history', { session_key });
  return messages.map(({ role, content }) => (role === 'user' ? `? ${content}` : content));
}

test('collect: messages that arrive during a turn are merged into one later turn, and every caller gets its answer', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  const names = ['b', 'c', 'd'];
  const merged = names.map((name) => listen(app.bus, getTurnId(name)));
  await start(app, 'a', ENDLESS);
  for (const name of names) await start(app, name, answer(`answer to ${name}`));
  await goOn(app);
  const ends = await Promise.all(names.map((name) => ended(app.bus, getTurnId(name))));
  assert.deepEqual(
    ends.map(({ state, result }) => [state, result?.response, result?.finishReason]),
    names.map(() => ['done', 'answer to d', 'stop']),
  );
  // The tokens of the merged turn are counted once.
  assert.deepEqual(
    ends.map(({ result }) => (result?.tokensUsed.total ?? 0) > 0),
    [true, false, false],
  );
  for (const { frames, until } of merged) {
    await until('done');
    assert.deepEqual(
      frames.map(({ n }) => n),
      frames.map((_, at) => at),
    );
    assert.equal(frames.flatMap((frame) => (frame.type === 'delta' ? [frame.text] : [])).join(''), 'answer to d');
    assert.equal(frames.at(-1)?.type, 'done', 'nothing is said after the end');
  }
  assert.deepEqual(await readText(app), [...names.map((name) => `? ${answer(`answer to ${name}`)}`), 'answer to d']);
  assert.equal((await app.bus.call('session.list', {})).sessions[0]?.messageCount, 4);
});

test('collect: the history contains every merged message, and a retry with a key returns the same answer', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  const sendRequest = (message: string, idempotencyKey?: string) =>
    app.bus.call('agent.execute', { agentId: 'echo', message, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });
  await start(app, 'a', ENDLESS, { session: { agentId: 'echo' } });
  const waiting = ['one one', 'two'].map((message, at) => sendRequest(message, `k${at + 1}`));
  for (const at of ['1', '2'])
    await app.bus.call('agent.start', { agentId: 'echo', message: at === '1' ? 'one one' : 'two', idempotencyKey: `k${at}` });
  await goOn(app);
  const [one, two] = await Promise.all(waiting);
  assert.ok(one && two);
  assert.deepEqual([one.response, two.response], [two.response, one.response]);
  assert.deepEqual([await sendRequest('one one', 'k1'), await sendRequest('two', 'k2')], [one, two]);
  await assert.rejects(sendRequest('three', 'k2'), { code: 'INVALID_ARGUMENT' });
  const getInput = ({ tokensUsed }: typeof one): number => tokensUsed.input;
  const words = (text: string): number => text.split(' ').length;
  const before = getInput(one) + getInput(two);
  assert.equal(getInput(await sendRequest('next')), before + words(one.response) + 1);
});

test('collect: a failure is returned to every merged caller', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  await start(app, 'a', ENDLESS);
  await start(app, 'b', answer('never said'));
  await start(app, 'c', script({ error: { status: 400, message: 'no' } }));
  await goOn(app);
  const [b, c] = [await ended(app.bus, getTurnId('b')), await ended(app.bus, getTurnId('c'))];
  assert.deepEqual([b.state, c.state], ['failed', 'failed']);
  assert.equal(b.failure?.message, c.failure?.message);
  assert.deepEqual([b.failure?.details?.['turnId'], c.failure?.details?.['turnId']], [getTurnId('b'), getTurnId('c')]);
  assert.deepEqual(await readText(app), []);
});

test('collect: cancelling the lead turn runs the others without it', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  await start(app, 'a', ENDLESS);
  const merged = listen(app.bus, getTurnId('b'));
  await start(app, 'b', answer('of b'));
  await start(app, 'c', ENDLESS);
  await goOn(app);
  await merged.until('step');
  await start(app, 'd', answer('of d'));
  await app.bus.call('agent.cancel', { turnId: getTurnId('b') });
  const [c, d] = [await ended(app.bus, getTurnId('c')), await ended(app.bus, getTurnId('d'))];
  assert.deepEqual([c.result?.response, d.result?.response], ['of d', 'of d']);
  assert.deepEqual(await readText(app), [`? ${ENDLESS}`, `? ${answer('of d')}`, 'of d']);
});

test('reports a merged turn as running and an unmerged one as queued', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  const getState = async (name: string) => {
    const { state, heardBy } = await app.bus.call('turns.resume', { turnId: getTurnId(name) });
    return heardBy === undefined ? state : [state, heardBy];
  };
  await start(app, 'a', ENDLESS);
  const merged = listen(app.bus, getTurnId('b'));
  await start(app, 'b', answer('of b'));
  const request = { agentId: 'scripted', message: ENDLESS, idempotencyKey: 'c' };
  const { turnId } = await app.bus.call('agent.start', request);
  const stateOfC = async () => (await app.bus.call('agent.start', request)).state;
  assert.deepEqual([await getState('b'), await stateOfC()], ['queued', 'queued']);
  await goOn(app);
  await merged.until('step');
  await start(app, 'd', answer('of d'));
  assert.equal(await getState('b'), 'running', 'it asks the model');
  assert.equal(await stateOfC(), 'running', 'its message is in what the model is asked');
  const { state, heardBy } = await app.bus.call('turns.resume', { turnId });
  assert.deepEqual([state, heardBy], ['running', getTurnId('b')]);
  assert.equal(await getState('d'), 'queued', 'it came later');
  // A cancelled turn shares no result with the turns merged into it.
  await app.bus.call('agent.cancel', { turnId: getTurnId('b') });
  await app.bus.call('agent.cancel', { turnId });
  assert.equal((await ended(app.bus, getTurnId('d'))).result?.response, 'of d');
  assert.equal(await stateOfC(), 'cancelled');
});

test('collect: a cancelled merged turn is reported as cancelled, and the others get the answer', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  await start(app, 'a', ENDLESS);
  const merged = listen(app.bus, getTurnId('b'));
  await start(app, 'b', answer('of b'));
  await start(app, 'c', answer('of c', 500));
  await goOn(app);
  await merged.until('step');
  const { turns } = await app.bus.call('agent.cancel', { turnId: getTurnId('c') });
  assert.deepEqual(turns, [{ turnId: getTurnId('c'), state: 'cancelled' }]);
  const [b, c] = [await ended(app.bus, getTurnId('b')), await ended(app.bus, getTurnId('c'))];
  assert.deepEqual([b.result?.response, c.failure?.code], ['of c', 'CANCELLED']);
});

test('collect: turns of another client, agent or scope are not merged and not overtaken', async () => {
  await using app = await withQueue({ defaultMode: 'collect' });
  const bob = { bus: app.bus.as(principal({ client: 'bob', scopes: ['*'] })) };
  const session = { userId: 'all' };
  await start(app, 'a', ENDLESS, { session });
  await start(app, 'b', answer('of b'), { session });
  await start(bob, 'c', answer('of c'), { session });
  await start(app, 'd', answer('of d'), { session });
  await start(app, 'e', answer('of e'), { session, scopes: ['rpc'] });
  await start(app, 'f', answer('of f'), { session, scopes: ['rpc'] });
  await goOn(app);
  const of = async (name: string, { bus } = app as Pick<TestService, 'bus'>) => (await ended(bus, getTurnId(name))).result?.response;
  assert.deepEqual(await Promise.all([of('b'), of('c', bob), of('d'), of('e'), of('f')]), ['of b', 'of c', 'of d', 'of f', 'of f']);
  assert.deepEqual(
    (await readText(app, 'agent:scripted:default:all:gateway')).filter((text) => !text.startsWith('?')),
    ['of b', 'of c', 'of d', 'of f'],
  );
});

test('the queue mode is resolved by channel, channel type and default, and can change at any time', async () => {
  await using app = await withQueue({
    defaultMode: 'followup',
    perChannel: { constructor: { mode: 'followup' as const }, telegram: { mode: 'collect' } },
  });
  const second = async (round: string, channelId: string): Promise<string | undefined> => {
    const session = { userId: `u${round}`, channelId };
    await start(app, `a${round}`, ENDLESS, { session });
    await start(app, `b${round}`, answer('of b'), { session });
    await start(app, `c${round}`, answer('of c'), { session });
    await goOn(app, `a${round}`);
    return (await ended(app.bus, getTurnId(`b${round}`))).result?.response;
  };
  const channels = ['telegram', 'telegram:42', 'web', 'valueOf', 'constructor'];
  const answers = await Promise.all(channels.map((channelId, at) => second(`1${at}`, channelId)));
  assert.deepEqual(answers, ['of c', 'of c', 'of b', 'of b', 'of b']);
  const layer = { queue: { defaultMode: 'collect', perChannel: { 'telegram:42': { mode: 'followup' } } } };
  await (await app.host.bus.kv(CONFIG_BUCKET)).put('head', Buffer.from(JSON.stringify({ layer })));
  await app.host.bus.flush();
  const later = await Promise.all(['web', 'telegram', 'telegram:42'].map((channelId, at) => second(`2${at}`, channelId)));
  assert.deepEqual(later, ['of c', 'of c', 'of b']);
});

/** A turn that works for a while, then calls a tool; what comes meanwhile waits behind it. */
const WORKS = script({ text: 'working ' }, { wait: 1_500 }, { tool: { name: 'session_status' } }, { text: 'as asked at first' });

for (const mode of ['steer', 'steer+followup'] as const) {
  test(`${mode}: a message that arrives during a turn is merged before its next step, and both callers get the answer`, async () => {
    await using app = await withQueue({ defaultMode: mode });
    const [first, second] = [listen(app.bus, getTurnId('a')), listen(app.bus, getTurnId('b'))];
    await start(app, 'a', WORKS);
    await first.until('step');
    await start(app, 'b', answer('as asked then'));
    const [a, b] = [await ended(app.bus, getTurnId('a')), await ended(app.bus, getTurnId('b'))];
    assert.deepEqual([a.result?.response, b.result?.response], ['as asked then', 'as asked then']);
    assert.deepEqual([(a.result?.tokensUsed.total ?? 0) > 0, b.result?.tokensUsed.total], [true, 0]);
    assert.ok((await second.until('done')).every(({ n }, at) => n === at));
    assert.deepEqual(await readText(app), [`? ${WORKS}`, `? ${answer('as asked then')}`, 'as asked then']);
  });

  test(`${mode}: a message that arrives during the last step gets its own turn`, async () => {
    await using app = await withQueue({ defaultMode: mode });
    const { until } = listen(app.bus, getTurnId('a'));
    await start(app, 'a', answer('of a', 1_000));
    await until('step');
    await start(app, 'b', answer('of b'));
    assert.equal((await ended(app.bus, getTurnId('b'))).result?.response, 'of b');
    assert.deepEqual(await readText(app), [`? ${answer('of a', 1_000)}`, 'of a', `? ${answer('of b')}`, 'of b']);
  });
}

test('steer merges messages that waited before the turn; steer+followup does not', async () => {
  for (const [defaultMode, expected] of [
    ['steer', ['of c', 'of c']],
    ['steer+followup', ['as asked at first', 'of c']],
  ] as const) {
    await using app = await withQueue({ defaultMode });
    await start(app, 'a', ENDLESS);
    await start(app, 'b', WORKS);
    await start(app, 'c', answer('of c'));
    await goOn(app);
    const ends = await Promise.all(['b', 'c'].map((name) => ended(app.bus, getTurnId(name))));
    assert.deepEqual(
      ends.map(({ result }) => result?.response),
      expected,
    );
  }
});

test('steer: a merged turn runs on its own when its lead is cancelled', async () => {
  await using app = await withQueue({ defaultMode: 'steer' });
  const { frames, until } = listen(app.bus, getTurnId('a'));
  await start(app, 'a', WORKS);
  await until('step');
  await start(app, 'b', answer('of b', 1_500));
  while (!frames.some((frame) => frame.type === 'step' && frame.step === 2)) await setTimeout(5);
  await goOn(app);
  assert.equal((await ended(app.bus, getTurnId('b'))).result?.response, 'of b');
  assert.deepEqual(await readText(app), [`? ${answer('of b', 1_500)}`, 'of b']);
});

test('the default mode is steer, with a later turn if there is no further step', async () => {
  await using app = await testSessions({ agents });
  const { until } = listen(app.bus, getTurnId('a'));
  await start(app, 'a', WORKS);
  await until('step');
  await start(app, 'b', answer('of b'));
  const ends = await Promise.all(['a', 'b'].map((name) => ended(app.bus, getTurnId(name))));
  assert.deepEqual(
    ends.map(({ result }) => result?.response),
    ['of b', 'of b'],
  );
});
