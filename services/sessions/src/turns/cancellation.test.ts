import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startService } from '@switchyard/service-kit';
import { principal, startUpstream } from '@switchyard/testkit';
import { sessions } from '../service.ts';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const ONE_SLOT = { concurrency: { maxConcurrentRuns: 1 } };
const agents = { scripted: { model: 'dev/scripted', ...ONE_SLOT }, other: { model: 'dev/scripted' } };
const script = (...steps: object[]): string => JSON.stringify(steps);
const LONG = script({ text: 'so far ' }, { wait: 60_000 }, { text: 'never said' });
const SHORT = script({ text: 'answered' });
/** Long before anything else would end it, on a machine that is busy. */
const DEADLINE_MS = 20_000;

const cancelled = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'CANCELLED' && error.details.reason === 'TURN_CANCELLED' && !error.retryable;

type App = Awaited<ReturnType<typeof testSessions>>;

/** Starts a turn and waits until it speaks. */
async function speaking(app: App, name: string, session = 'gateway'): Promise<string> {
  const turnId = getTurnId(name);
  const received = listen(app.bus, turnId);
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message: LONG, session: { channelId: session } });
  await received.until('delta');
  return turnId;
}

/** From then on, as long as its model is silent, a runner that nobody tells anything finds out only seconds later. */
async function quiet(app: App, turnId: string): Promise<void> {
  while ((await app.bus.call('turns.resume', { turnId })).state !== 'running');
}

/** A turn that runs may say for a second that it is queued. */
async function goesOn(app: App, turnId: string): Promise<void> {
  assert.ok(['queued', 'running'].includes((await app.bus.call('turns.resume', { turnId })).state));
}

async function waiting(app: App, name: string, session = 'gateway', agentId = 'scripted'): Promise<string> {
  const turnId = getTurnId(name);
  await app.bus.call('turns.start', { turnId, agentId, message: SHORT, session: { channelId: session } });
  return turnId;
}

test('ends a running turn at once, notifies caller and readers, and frees slot and session', async () => {
  await using app = await testSessions({ agents });
  const received = listen(app.bus, getTurnId('runs'));
  const request = app.bus.call('turns.start', { turnId: getTurnId('runs'), agentId: 'scripted', message: LONG, idempotencyKey: 'k' });
  await request;
  await received.until('delta');
  const started = performance.now();
  const answer = await app.bus.call('agent.cancel', { turnId: getTurnId('runs') });
  assert.deepEqual(answer, {
    cancelled: true,
    sessionKey: 'agent:scripted:default:test:gateway',
    turns: [{ turnId: getTurnId('runs'), state: 'cancelled' }],
  });
  const end = (await received.until('error')).at(-1);
  assert.deepEqual(end?.type === 'error' && [end.error.code, end.error.details?.['reason']], ['CANCELLED', 'TURN_CANCELLED']);
  const next = await app.bus.call('agent.execute', { agentId: 'scripted', message: SHORT });
  assert.equal(next.response, 'answered');
  assert.ok(performance.now() - started < DEADLINE_MS);
  const { messages } = await app.bus.call('session.history', { session_key: answer.sessionKey });
  assert.equal(messages.length, 2, 'nothing of it is in the history');
});

test('returns the cancellation to waiting callers and to a retry with the same key', async () => {
  await using app = await testSessions({ agents });
  const sendRequest = () => app.bus.call('agent.execute', { agentId: 'scripted', message: LONG, idempotencyKey: 'k' });
  const first = sendRequest();
  void first.catch(() => undefined);
  const requested = { agentId: 'scripted' };
  while (!(await app.bus.call('agent.cancel', requested)).cancelled);
  await assert.rejects(first, cancelled);
  await assert.rejects(sendRequest(), cancelled);
});

test('closes the upstream connection at once', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });
  const entries = { lab: { type: 'openai-compatible', baseUrl: upstream.url } };
  await using app = await testSessions({
    settings: { providers: { entries } },
    agents: { default: { provider: 'lab', model: 'one' } },
  });
  const received = listen(app.bus, getTurnId('upstream'));
  await app.bus.call('turns.start', { turnId: getTurnId('upstream'), message: 'hello' });
  await received.until('delta');
  await quiet(app, getTurnId('upstream'));
  const started = performance.now();
  assert.equal((await app.bus.call('agent.cancel', {})).cancelled, true);
  await upstream.abandoned;
  assert.ok(performance.now() - started < DEADLINE_MS);
});

test('removes a queued turn at once and keeps the order of the others', async () => {
  await using app = await testSessions({ agents, settings: { queue: { defaultOverflow: { maxDepth: 2 } } } });
  const running = await speaking(app, 'running');
  const [first, second] = [await waiting(app, 'first'), await waiting(app, 'second')];
  await assert.rejects(waiting(app, 'third'), { code: 'RESOURCE_EXHAUSTED' });
  assert.equal((await app.bus.call('agent.cancel', { turnId: first })).turns[0]?.state, 'cancelled');
  const third = await waiting(app, 'third');
  await goesOn(app, running);
  await app.bus.call('agent.cancel', { turnId: running });
  assert.deepEqual([(await ended(app.bus, second)).state, (await ended(app.bus, third)).state], ['done', 'done']);
  const { failure, state } = await app.bus.call('turns.resume', { turnId: first });
  assert.deepEqual([state, failure?.code], ['cancelled', 'CANCELLED']);
});

test('cancelling a turn that waits for its agent empties the session, or lets the next one wait for its own agent', async () => {
  await using app = await testSessions({ agents });
  const busy = await speaking(app, 'busy');
  const alone = await waiting(app, 'alone', 'a');
  assert.equal((await app.bus.call('agent.cancel', { turnId: alone })).cancelled, true);
  await app.bus.call('session.reset', { session_key: 'agent:scripted:default:test:a' });

  const key = 'agent:scripted:default:test:b';
  const first = await waiting(app, 'first', 'b');
  const next = getTurnId('next');
  await app.bus.call('turns.start', { turnId: next, agentId: 'other', message: SHORT, session: key });
  const received = listen(app.bus, next);
  await app.bus.call('agent.cancel', { turnId: first });
  await received.until('done');
  await app.bus.call('agent.cancel', { turnId: busy });
});

test('cancels all turns of the client in a session and none of other clients', async () => {
  await using app = await testSessions({ agents });
  const ownItems = [await speaking(app, 'one'), await waiting(app, 'two'), await waiting(app, 'three')];
  const key = 'agent:scripted:default:test:gateway';
  const bob = app.bus.as(principal({ client: 'bob', scopes: ['*'] }));
  const his = bob.call('session.send', { key, message: SHORT });
  void his.catch(() => undefined);
  await bob.flush();
  for (;;) {
    const { turns, sessionKey } = await bob.call('agent.cancel', { agentId: 'scripted', sessionKey: { userId: 'test' } });
    if (turns.length > 0) {
      assert.equal(sessionKey, key);
      break;
    }
  }
  await assert.rejects(his, cancelled);
  for (const turnId of ownItems) await goesOn(app, turnId);

  const answer = await app.bus.call('agent.cancel', { sessionKey: key });
  assert.deepEqual(
    answer.turns,
    ownItems.map((turnId) => ({ turnId, state: 'cancelled' })),
  );
  assert.deepEqual(await app.bus.call('agent.cancel', { sessionKey: key }), { cancelled: false, sessionKey: key, turns: [] });
  assert.equal((await app.bus.call('agent.execute', { agentId: 'scripted', message: SHORT })).response, 'answered');
});

test('is idempotent, and reports how a finished turn ended', async () => {
  await using app = await testSessions({ agents });
  const turnId = await speaking(app, 'twice');
  const first = await app.bus.call('agent.cancel', { turnId });
  assert.deepEqual(await app.bus.call('agent.cancel', { turnId }), first);
  const late = await waiting(app, 'late');
  await ended(app.bus, late);
  const { cancelled: any, turns } = await app.bus.call('agent.cancel', { turnId: late });
  assert.deepEqual([any, turns], [false, [{ turnId: late, state: 'done' }]]);
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' });
  assert.equal(messages.length, 2);
});

test('returns NOT_FOUND for a missing turn, a turn of another client, and a mismatching session or agent', async () => {
  await using app = await testSessions({ agents });
  const turnId = await speaking(app, 'mine');
  const unknown = { code: 'NOT_FOUND', message: 'Turn not found.' };
  for (const other of [principal({ client: 'bob', scopes: ['*'] }), principal({ tenant: 'acme' })]) {
    await assert.rejects(app.bus.as(other).call('agent.cancel', { turnId }), unknown);
  }
  await assert.rejects(app.bus.call('agent.cancel', { turnId: getTurnId('never') }), unknown);
  await assert.rejects(app.bus.call('agent.cancel', { turnId, agentId: 'other' }), unknown);
  await assert.rejects(app.bus.call('agent.cancel', { turnId, sessionKey: { channelId: 'elsewhere' } }), unknown);
  const held = principal({ client: 'bob', scopes: ['*'], sessions: 'own' });
  const key = 'agent:scripted:default:test:gateway';
  assert.deepEqual(await app.bus.as(held).call('agent.cancel', { sessionKey: key }), { cancelled: false, sessionKey: key, turns: [] });
  await goesOn(app, turnId);
  assert.equal((await app.bus.call('agent.cancel', { turnId, agentId: 'scripted' })).cancelled, true);
});

test('stops the turn on whichever replica runs it', async () => {
  await using app = await testSessions({ agents });
  await using _second = await startService(sessions, app.host);
  for (let at = 0; at < 6; at += 1) {
    const turnId = await speaking(app, `round${at}x`);
    await quiet(app, turnId);
    const started = performance.now();
    await app.bus.call('agent.cancel', { turnId });
    assert.equal((await app.bus.call('agent.execute', { agentId: 'scripted', message: SHORT })).response, 'answered');
    assert.ok(performance.now() - started < 9_000, 'its slot or its session was free too late');
  }
});

test('aborts a tool call in progress', async () => {
  await using app = await testSessions({ agents, env: { SWITCHYARD_DEV_TOOLS: 'on' } });
  const turnId = getTurnId('intool');
  const received = listen(app.bus, turnId);
  const message = script({ tool: { name: 'dev_act', input: { name: 'x', waitMs: 4_000 } } }, { text: 'never said' });
  await app.bus.call('turns.start', { turnId, agentId: 'scripted', message });
  await received.until('tool');
  await app.bus.call('agent.cancel', { turnId });
  const next = await app.bus.call('agent.execute', { agentId: 'scripted', message: SHORT });
  assert.equal(next.response, 'answered');
  assert.ok(!received.frames.some((frame) => frame.type === 'tool' && frame.state === 'succeeded'));
});

test('a caller that disconnects cancels nothing; its turn is answered and in the history', async () => {
  await using app = await testSessions({ agents });
  const leaving = new AbortController();
  const message = script({ text: 'said ' }, { wait: 300 }, { text: 'to nobody' });
  const left = app.bus.call('agent.execute', { agentId: 'other', message }, { signal: leaving.signal });
  const { promise, resolve } = Promise.withResolvers<void>();
  app.bus.on('message:received', () => resolve());
  await promise;
  leaving.abort();
  await assert.rejects(left, { code: 'CANCELLED' });
  await app.nextEvent('message:sent');
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:other:default:test:gateway' });
  assert.deepEqual(messages.at(-1)?.content, 'said to nobody');
});
