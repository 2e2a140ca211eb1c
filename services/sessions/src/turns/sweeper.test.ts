import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { newWork } from '@switchyard/service-kit';
import { openStore, type Store } from '@switchyard/store';
import { principal, tempDir } from '@switchyard/testkit';
import { sessionCollection, turnCollection, type SessionDocument, type TurnDocument } from '../data.ts';
import { listen, testSessions, turnIdOf } from '../sessions.fixture.ts';

const tenant = { tenant: 'default' };
const KEY = 'default:test:gateway';
const HOUR_MS = 3_600_000;

function turn(turnId: string, fields: Partial<TurnDocument>): TurnDocument {
  return {
    ...newWork(),
    turnId,
    sessionKey: KEY,
    seq: 0,
    agentId: 'default',
    message: 'hello',
    client: 'test',
    scopes: ['*'],
    fingerprint: 'f',
    steps: [],
    createdAt: Date.now() - HOUR_MS,
    ...fields,
  };
}

function session(activeTurn: string | null): SessionDocument {
  const then = Date.now() - HOUR_MS;
  return {
    key: KEY,
    agentId: 'default',
    userId: 'test',
    channelId: 'gateway',
    kind: 'dm',
    activeTurn,
    activeSince: then,
    nextTurnSeq: 2,
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    createdBy: 'test',
    metadata: {},
    createdAt: then,
    updatedAt: then,
  };
}

/** What a process that died left behind. */
async function leave(data: string, write: (store: Awaited<ReturnType<typeof open>>) => Promise<unknown>): Promise<void> {
  const store: Store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  await write(await open(store));
  await store.close();
}

async function open(store: Store) {
  const { sessions, turns } = await store.open({ sessions: sessionCollection, turns: turnCollection });
  return { sessions: sessions.for(tenant), turns: turns.for(tenant) };
}

test('a running turn whose process died ends as interrupted, and the next in its session runs', async () => {
  await using data = await tempDir();
  const [dead, waiting] = [turnIdOf('dead'), turnIdOf('waiting')];
  await leave(data.path, async ({ sessions, turns }) => {
    await sessions.insert(session(dead));
    await turns.insert(turn(dead, { state: 'running', owner: 'gone', leaseUntil: Date.now() - 1, fence: 1, attempts: 1 }));
    await turns.insert(turn(waiting, { seq: 1 }));
  });
  await using app = await testSessions({ data: data.path, as: principal({ client: 'test', scopes: ['*'] }) });
  const resume = (turnId: string) => app.bus.call('turns.resume', { turnId });
  if ((await resume(waiting)).state !== 'done') await listen(app.bus, waiting).until('done');
  assert.equal((await resume(waiting)).state, 'done');
  const ended = await resume(dead);
  assert.deepEqual([ended.state, ended.failure?.code, ended.failure?.details?.['reason']], ['failed', 'UNAVAILABLE', 'INTERRUPTED']);
  assert.equal(ended.failure?.details?.['retryable'], false, 'its tools may have acted');
});

test('a lane whose turn was never written is free again', async () => {
  await using data = await tempDir();
  await leave(data.path, ({ sessions }) => sessions.insert(session(turnIdOf('never'))));
  await using app = await testSessions({ data: data.path, as: principal({ client: 'test', scopes: ['*'] }) });
  assert.equal((await app.bus.call('agent.execute', { message: 'hello' })).sessionKey, KEY);
});
