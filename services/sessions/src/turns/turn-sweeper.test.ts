import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore, type Store } from '@switchyard/store';
import { principal, tempDir } from '@switchyard/testkit';
import { sessionCollection, type SessionDocument } from '../model/session-document.ts';
import { turnCollection, type TurnDocument } from '../model/turn-document.ts';
import { formatEntry } from '../model/queue-entry.ts';
import { ended, listen, testSessions, getTurnId } from '../sessions.fixture.ts';

const tenant = { tenant: 'default' };
const KEY = 'default:test:gateway';
const HOUR_MS = 3_600_000;
const then = Date.now() - HOUR_MS;
const as = principal({ client: 'test', scopes: ['*'] });
/** Turns of an hour ago have not waited for too long here. */
const settings = { queue: { waitTimeoutMs: 10 * HOUR_MS } };

function turn(turnId: string, fields: Partial<TurnDocument> = {}): TurnDocument {
  const work = { state: 'queued' as const, fence: 0, attempts: 0, steps: [], checkpoints: 0, tail: [] };
  const request = { agentId: 'default', message: { chars: 5, text: 'hello' }, client: 'test', scopes: ['*'], fingerprint: 'f' };
  return { turnId, sessionKey: KEY, ...request, ...work, createdAt: then, ...fields };
}

function session(turns: readonly TurnDocument[], fields: Partial<SessionDocument> = {}): SessionDocument {
  const counts = { messageCount: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, lastSteps: 0, lastSeq: 0 };
  const mailbox = { epoch: 'e', queue: turns.map(formatEntry), depth: turns.length, owner: 'gone', leaseUntil: then, fence: then };
  const place = {
    key: KEY,
    agentId: 'default',
    userId: 'test',
    channelId: 'gateway',
    kind: 'dm' as const,
    createdBy: 'test',
    metadata: {},
  };
  return { ...place, ...counts, ...mailbox, createdAt: then, updatedAt: then, ...fields };
}

/** Writes documents as a crashed process left them. */
async function leave(data: string, write: (store: Awaited<ReturnType<typeof open>>) => Promise<unknown>): Promise<void> {
  const store: Store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  await write(await open(store));
  await store.close();
}

async function open(store: Store) {
  const { sessions, turns } = await store.open({ sessions: sessionCollection, turns: turnCollection });
  return { sessions: sessions.for(tenant), turns: turns.for(tenant) };
}

test('continues a turn whose process died, and then the next turn of its session', async () => {
  await using data = await tempDir();
  const [dead, waiting] = [getTurnId('dead'), getTurnId('waiting')];
  const turns = [turn(dead, { state: 'running', fence: then, attempts: 1 }), turn(waiting)];
  await leave(data.path, async (beside) => {
    await beside.sessions.insert(session(turns));
    for (const one of turns) await beside.turns.insert(one);
  });
  await using app = await testSessions({ data: data.path, as, settings });
  assert.equal((await ended(app.bus, waiting)).state, 'done');
  const { state, lastFrame = 0 } = await ended(app.bus, dead);
  assert.equal(state, 'done');
  assert.ok(lastFrame > 1_000_000, 'its readers see that another run began');
});

test('enqueues a stored turn that is in no queue', async () => {
  await using data = await tempDir();
  const lost = getTurnId('lost');
  await leave(data.path, ({ turns }) => turns.insert(turn(lost)));
  await using app = await testSessions({ data: data.path, as, settings });
  assert.equal((await ended(app.bus, lost)).state, 'done');
  assert.equal((await app.bus.call('session.export', { session_key: KEY })).messageCount, 2);
});

test('ends a turn with POISON after five attempts, and its session continues', async () => {
  await using data = await tempDir();
  const poison = getTurnId('poison');
  const left = turn(poison, { state: 'running', fence: then, attempts: 5 });
  await leave(data.path, async ({ sessions, turns }) => {
    await sessions.insert(session([left]));
    await turns.insert(left);
  });
  await using app = await testSessions({ data: data.path, as, settings });
  const { failure } = await ended(app.bus, poison);
  assert.deepEqual([failure?.code, failure?.details?.['reason'], failure?.details?.['retryable']], ['INTERNAL', 'POISON', false]);
  assert.equal((await app.bus.call('agent.execute', { message: 'and on' })).sessionKey, KEY);
});

test('ends a turn that has waited too long with WAIT_TIMEOUT', async () => {
  const agents = { scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: 1 } } };
  const timing = { pollMs: 20 };
  await using app = await testSessions({ as, agents, timing, settings: { queue: { waitTimeoutMs: 100 } } });
  const start = (name: string, channelId: string, wait: number) =>
    app.bus.call('turns.start', {
      turnId: getTurnId(name),
      agentId: 'scripted',
      message: JSON.stringify([{ wait }, { text: 'done' }]),
      session: { channelId },
    });
  const late = listen(app.bus, getTurnId('late'));
  const long = listen(app.bus, getTurnId('long'));
  await start('long', 'one', 1_000);
  await start('late', 'two', 0);
  const end = (await late.until('error')).at(-1);
  assert.equal(end?.type === 'error' && end.error.details?.['reason'], 'WAIT_TIMEOUT');
  assert.ok(!long.frames.some(({ type }) => type === 'done'), 'it did not wait for room');
  await long.until('done');
});

test('releases an idempotency key after a day', async () => {
  await using data = await tempDir();
  const key = { idempotencyKey: 'test agent.execute k', keyUntil: Date.now() - 1 };
  await leave(data.path, ({ turns }) => turns.insert(turn(getTurnId('keyed'), { state: 'failed', ...key })));
  await using app = await testSessions({ data: data.path, as, settings });
  assert.match((await app.bus.call('agent.execute', { message: 'anew', idempotencyKey: 'k' })).response, /anew/);
});
