import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ServiceError } from '@switchyard/contracts';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import type { SessionDocument } from '../../model/session-document.ts';
import { turnCollection, type TurnDocument } from '../../model/turn-document.ts';
import { testSessions } from '../../sessions.fixture.ts';
import { createAutoContinue, continuationId, CONTINUE_PROMPT, requireContinuable } from './auto-continue.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const SUMMARY = 'They spoke of harbours.';
const PATIENCE_MS = 10_000;
/** More than the window takes. */
const TOO_MUCH = 'x'.repeat(4 * 3_300);

interface House extends AsyncDisposable {
  app: TestService;
  /** Answers turns, and makes summaries. */
  upstream: Upstream;
  writer: Upstream;
}

async function start({ queue = {}, contextWindow = 4_000 }: { queue?: object; contextWindow?: number } = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const writer = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const getEntry = ({ url }: Upstream, window: number) => ({
    type: 'openai-compatible' as const,
    baseUrl: url,
    maxRetries: 0,
    models: [{ id: 'm', contextWindow: window }],
  });
  const settings = { providers: { entries: { local: getEntry(upstream, contextWindow), writer: getEntry(writer, 128_000) } }, queue };
  const contextEngine = { freshTailTurns: 1, leafMinFanout: 2, compactionPrefixAnchorTurns: 0, compactionModel: 'writer/m' };
  const config = { provider: 'local', model: 'm', contextEngine };
  const app = stack.use(await testSessions({ as: admin, settings, agents: { default: config }, timing: { sweepMs: 20 } }));
  return { app, upstream, writer, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const sendMessage = ({ app }: House, message: string) => app.bus.call('agent.execute', { message });
const history = async ({ app }: House) => (await app.bus.call('session.history', { session_key: KEY })).messages;

/** A few words, then more than there is room for. */
async function exhaust(house: House): Promise<void> {
  for (const words of ['one', 'two']) await sendMessage(house, words);
  assert.equal((await sendMessage(house, TOO_MUCH)).finishReason, 'context_exhausted');
}

async function documents({ app }: House, change?: { turnId: string; unfollowed: number }): Promise<TurnDocument[]> {
  const store = await app.host.store('sessions');
  const { turns } = await store.open({ turns: turnCollection });
  if (change) await turns.for(admin).update({ turnId: change.turnId }, { set: { continuePendingSince: change.unfollowed } });
  const { items } = await turns.for(admin).find({}, { sort: [['createdAt', 'asc']] });
  await store.close();
  return items;
}

async function waitUntil(leases: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await leases()); await wait(10)) assert.ok(Date.now() < end, 'condition was never met');
}

const settled = (house: House) =>
  waitUntil(async () =>
    (await documents(house)).every(({ continuePendingSince = 0, seq }) => continuePendingSince === 0 && seq !== undefined),
  );

test('continues a conversation once after its window was full and it was compacted, in the configured lane', async () => {
  await using house = await start({ queue: { priorityEnabled: true, laneAssignment: { followupLane: 'low' } } });
  await exhaust(house);
  await waitUntil(async () => (await history(house)).length === 8);
  const origin = (await documents(house)).at(2);
  assert.ok(origin);
  const reply = (await history(house)).slice(4).map(({ role, content, follows }) => [role, content.slice(0, 40), follows]);
  assert.deepEqual(reply, [
    ['user', TOO_MUCH.slice(0, 40), undefined],
    ['assistant', '', undefined],
    ['user', CONTINUE_PROMPT.slice(0, 40), origin.turnId],
    ['assistant', SUMMARY, undefined],
  ]);
  await settled(house);
  const [next, ...others] = (await documents(house)).slice(3);
  assert.deepEqual(
    [next?.turnId, next?.lane, next?.client, next?.scopes, others],
    [continuationId(origin.turnId), 'low', 'test', ['*'], []],
  );
  // A process that crashed before it could remove the marker.
  await documents(house, { turnId: origin.turnId, unfollowed: 1 });
  await settled(house);
  assert.equal((await history(house)).length, 8);
});

test('continues at most maxFollowupRuns times in a row, and never with followupOnCompaction off', async () => {
  const runs: unknown[] = [];
  for (const followup of [{ maxFollowupRuns: 2 }, { maxFollowupRuns: 0 }, { followupOnCompaction: false }]) {
    // The context of a continued turn is too large for this model, too.
    await using house = await start({ queue: { followup }, contextWindow: 50 });
    for (const words of ['one', 'two']) await sendMessage(house, words);
    assert.equal((await sendMessage(house, TOO_MUCH)).finishReason, 'context_exhausted');
    if (followup.maxFollowupRuns) await waitUntil(async () => (await documents(house)).length === 5);
    await settled(house);
    runs.push((await documents(house)).slice(3).map(({ continuationOf, finishReason }) => [continuationOf?.run, finishReason]));
  }
  const each = [1, 2].map((run) => [run, 'context_exhausted']);
  assert.deepEqual(runs, [each, [], []]);
});

test('a sweep continues after a model outage; a conversation that cannot be compacted is not continued', async () => {
  await using house = await start();
  assert.equal((await sendMessage(house, TOO_MUCH)).finishReason, 'context_exhausted');
  await settled(house);
  assert.equal((await history(house)).length, 2, 'there was nothing to make shorter');
  house.writer.respond({ kind: 'status', status: 503 }, { kind: 'text', text: SUMMARY });
  await exhaust(house);
  await waitUntil(async () => (await history(house)).length === 10);
  assert.equal((await history(house)).at(-2)?.content, CONTINUE_PROMPT);
});

test('does not continue after a cancellation, /stop, a reset or a new message', async () => {
  const others: unknown[] = [];
  const ends: ((house: House) => Promise<unknown>)[] = [
    ({ app }) => app.bus.call('agent.cancel', { sessionKey: KEY }),
    (house) => sendMessage(house, '/stop'),
    ({ app }) => app.bus.call('session.reset', { session_key: KEY }),
    (house) => sendMessage(house, 'three'),
  ];
  for (const end of ends) {
    await using house = await start();
    house.writer.respond({ kind: 'status', status: 503 });
    await exhaust(house);
    await waitUntil(async () => house.writer.requests.length > 0);
    await end(house);
    house.writer.respond({ kind: 'text', text: SUMMARY });
    await waitUntil(async () => (await documents(house)).every(({ continuePendingSince = 0 }) => continuePendingSince === 0));
    others.push((await documents(house)).filter(({ continuationOf }) => continuationOf !== undefined));
  }
  assert.deepEqual(others, [[], [], [], []]);
});

test('a queued continuation does not start after a reset, a new message, a suspension or a cancellation', async () => {
  const follows = { turnId: 'turn_before', run: 1, epoch: 'epoch_1', seq: 7 };
  const turn = { turnId: 'turn_next', agentId: 'default', continuationOf: follows } as TurnDocument;
  const session = { epoch: 'epoch_1', lastSeq: 7 } as SessionDocument;
  const begins = async (options: { session?: object; suspended?: boolean; unfollowed?: number }): Promise<unknown> => {
    const turns = { get: async () => ({ continuePendingSince: options.unfollowed }) } as never;
    const { suspended = false } = options;
    return requireContinuable(turns, { turn, session: { ...session, ...options.session }, suspended }).then(
      () => 'begins',
      (error: ServiceError) => error.details.reason,
    );
  };
  const matches = await Promise.all([
    begins({ unfollowed: 5 }),
    begins({}),
    begins({ session: { epoch: 'epoch_2' } }),
    begins({ session: { lastSeq: 8 } }),
    begins({ suspended: true }),
    begins({ unfollowed: 0 }),
  ]);
  assert.deepEqual(matches, ['begins', 'begins', 'OVERTAKEN', 'OVERTAKEN', 'AGENT_SUSPENDED', 'TURN_CANCELLED']);
});

test('retries unexpected errors for ten minutes at most', async () => {
  const options: boolean[] = [];
  for (const later of [599_999, 600_000]) {
    let isGone = false;
    const deps = {
      sessions: { for: () => ({ get: async () => Promise.reject(new TypeError('not foreseen')) }) },
      turns: { for: () => ({ update: async () => void (isGone = true) }) },
      settings: { current: { queue: { followup: { maxFollowupRuns: 3, followupOnCompaction: true } } } },
      store: { now: () => 1_000 + later },
      log: { warn: () => undefined },
    };
    const followUps = createAutoContinue(deps as never);
    followUps.consider('default', { turnId: 'turn_before', sessionKey: KEY, continuePendingSince: 1_000 } as TurnDocument);
    await followUps[Symbol.asyncDispose]();
    options.push(isGone);
  }
  assert.deepEqual(options, [false, true]);
});
