import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type ConfigurationPatch } from '@switchyard/contracts';
import { startUpstream, type TestService } from '@switchyard/testkit';
import { ended, listen, testSessions, getTurnId } from '../../sessions.fixture.ts';

const answer = (text: string, wait = 0): string => JSON.stringify([{ wait }, { text }]);
const ENDLESS = answer('never', 60_000);
const agents = { scripted: { model: 'dev/scripted' } };

type Policy = NonNullable<NonNullable<ConfigurationPatch['queue']>['defaultOverflow']>['policy'];

/** A turn runs in a session in which two may wait, until it is cancelled. */
async function oneRuns(policy: NonNullable<Policy>, { queue, ...options }: SetupOptions = {}): Promise<TestService> {
  const waits = { defaultMode: 'followup' as const, defaultOverflow: { maxDepth: 2, policy }, ...queue };
  const app = await testSessions({ agents: { ...agents, ...options.agents }, settings: { queue: waits, ...options.settings } });
  const { until } = listen(app.bus, getTurnId('a'));
  await start(app, 'a', ENDLESS);
  await until('step');
  return app;
}

interface SetupOptions {
  queue?: ConfigurationPatch['queue'];
  agents?: Record<string, object>;
  settings?: ConfigurationPatch;
}

async function goOn({ bus }: TestService, name = 'a'): Promise<void> {
  await bus.call('agent.cancel', { turnId: getTurnId(name) });
}

function start({ bus }: TestService, name: string, message = answer(`of ${name}`), more: object = {}) {
  return bus.call('turns.start', { turnId: getTurnId(name), agentId: 'scripted', message, ...more });
}

async function getEnd({ bus }: TestService, name: string): Promise<unknown> {
  const { result, failure } = await ended(bus, getTurnId(name));
  return result?.response ?? [failure?.code, failure?.details?.['reason'], failure?.details?.['retryable']];
}

const DROPPED = ['RESOURCE_EXHAUSTED', 'TURN_DROPPED', false];

function isDropped(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED' && error.details.reason === 'TURN_DROPPED';
}

test('drop-old: a new turn replaces the longest-waiting one, which is notified at once', async () => {
  await using app = await oneRuns('drop-old');
  for (const name of ['b', 'c']) await start(app, name);
  const sent = listen(app.bus, getTurnId('b'));
  const refused = assert.rejects(app.bus.call('agent.attach', { turnId: getTurnId('b') }), isDropped);
  await start(app, 'd');
  await refused;
  assert.equal((await sent.until('error')).length, 1);
  assert.equal((await app.bus.call('turns.resume', { turnId: getTurnId('a') })).failure, undefined);
  await start(app, 'e');
  await goOn(app);
  assert.deepEqual(await Promise.all(['b', 'c', 'd', 'e'].map((name) => getEnd(app, name))), [DROPPED, DROPPED, 'of d', 'of e']);
  const { messages } = await app.bus.call('session.history', { session_key: 'agent:scripted:default:test:gateway' });
  assert.deepEqual(
    messages.filter(({ role }) => role === 'assistant').map(({ content }) => content),
    ['of d', 'of e'],
  );
});

test('drop-old: concurrent turns are all accepted, and as many as may wait are answered', async () => {
  await using app = await oneRuns('drop-old');
  const names = Array.from({ length: 20 }, (_, at) => `crowd${at}x`);
  await Promise.all(names.map((name) => start(app, name)));
  await goOn(app);
  const ends = await Promise.all(names.map((name) => getEnd(app, name)));
  assert.deepEqual(ends, [...names.slice(2).map(() => DROPPED), ...names.slice(-2).map((name) => `of ${name}`)]);
});

test('drop-old: a retry with the key of a dropped turn returns the failure and runs nothing', async () => {
  await using app = await oneRuns('drop-old');
  const request = { agentId: 'scripted', message: answer('of b'), idempotencyKey: 'k' };
  await app.bus.call('agent.start', request);
  for (const name of ['c', 'd', 'e']) await start(app, name);
  await assert.rejects(app.bus.call('agent.execute', request), isDropped);
  await goOn(app);
  assert.deepEqual(await Promise.all(['c', 'd', 'e'].map((name) => getEnd(app, name))), [DROPPED, 'of d', 'of e']);
  await assert.rejects(app.bus.call('agent.execute', request), isDropped);
});

test('drop-old: merged turns are not dropped; a new turn is rejected if no other turn waits', async () => {
  await using app = await oneRuns('drop-old', { queue: { defaultMode: 'collect' } });
  const { until } = listen(app.bus, getTurnId('b'));
  await start(app, 'b');
  await start(app, 'c', ENDLESS);
  await goOn(app);
  await until('step');
  await start(app, 'd');
  await start(app, 'e');
  assert.deepEqual(await getEnd(app, 'd'), DROPPED);
  await goOn(app, 'b');
  await goOn(app, 'c');
  assert.equal(await getEnd(app, 'e'), 'of e');
});

test('a channel with its own overflow policy does not affect others', async () => {
  const telegram = { mode: 'followup' as const, overflow: { maxDepth: 1, policy: 'drop-old' as const } };
  await using app = await oneRuns('drop-new', { queue: { perChannel: { telegram } } });
  const session = { channelId: 'telegram:42' };
  await start(app, 'f', ENDLESS, { session });
  for (const name of ['g', 'h']) await start(app, name, answer(`of ${name}`), { session });
  for (const name of ['b', 'c']) await start(app, name);
  await assert.rejects(start(app, 'd'), { details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 } });
  for (const name of ['a', 'f']) await goOn(app, name);
  assert.deepEqual(await Promise.all(['g', 'h', 'b'].map((name) => getEnd(app, name))), [DROPPED, 'of h', 'of b']);
});

test('limits the turns of an agent in one session below the queue depth', async () => {
  await using app = await oneRuns('drop-old', { agents: { scripted: { ...agents.scripted, concurrency: { maxQueuedPerSession: 1 } } } });
  for (const name of ['b', 'c']) await start(app, name);
  await goOn(app);
  assert.deepEqual(await Promise.all(['b', 'c'].map((name) => getEnd(app, name))), [DROPPED, 'of c']);
});

test('with the queue disabled a turn is rejected while another runs, and may wait for its agent', async () => {
  await using app = await oneRuns('drop-old', { queue: { enabled: false, maxConcurrentSessions: 1 } });
  await assert.rejects(start(app, 'b'), { details: { reason: 'QUEUE_FULL', retryAfterMs: 1_000 } });
  await start(app, 'c', answer('of c'), { session: { channelId: 'other' } });
  await goOn(app);
  assert.equal(await getEnd(app, 'c'), 'of c');
});

test('summarize: the new turn reads how the dropped messages began, and their callers are notified', async () => {
  await using upstream = await startUpstream();
  const settings = {
    models: { dev: true },
    providers: { entries: { lab: { type: 'openai-compatible' as const, baseUrl: upstream.url } } },
  };
  await using app = await oneRuns('summarize', {
    agents: { scripted: { model: 'dev/scripted' }, lab: { model: 'm', provider: 'lab' } },
    settings,
  });
  const long = `a   long\n${'question '.repeat(40)}`;
  const session = { agentId: 'scripted' };
  for (const [name, message] of Object.entries({ b: long, c: 'of c', d: 'of d', e: 'of e', f: 'of f' })) {
    await start(app, name, message, { session, agentId: 'lab' });
  }
  await goOn(app);
  const summarized = ['RESOURCE_EXHAUSTED', 'TURN_SUMMARIZED', false];
  const hello = 'Hello from upstream.';
  const ends = await Promise.all(['b', 'c', 'd', 'e', 'f'].map((name) => getEnd(app, name)));
  assert.deepEqual(ends, [summarized, summarized, summarized, hello, hello]);
  const request = upstream.requests.map(({ body }) =>
    (body.messages as { role: string; content: string }[]).filter(({ role }) => role === 'user'),
  );
  const left = (...begun: string[]): string =>
    ['The queue was full, and these messages were dropped. They began:', ...begun.map((text) => `- ${text}`)].join('\n');
  assert.deepEqual(
    request.map((messages) => messages.map(({ content }) => content)),
    [
      [left('of c'), 'of e'],
      ['of e', left(`${`a long ${'question '.repeat(40)}`.slice(0, 200)}…`, 'of d'), 'of f'],
    ],
  );
});
