import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { startService } from '@switchyard/service-kit';
import { collection, openStore } from '@switchyard/store';
import { principal, startUpstream, tempDir } from '@switchyard/testkit';
import { sessions as service } from '../service.ts';
import { ended, testSessions, turnIdOf } from '../sessions.fixture.ts';
import { earlierMessages } from './earlier-data.ts';

const tenant = { tenant: 'default' };
const alice = principal({ client: 'alice', scopes: ['*'] });
/** What waited for a year has not waited for too long here. */
const settings = { queue: { waitTimeoutMs: 100 * 365 * 86_400_000 } };
const agents = { scripted: { model: 'dev/scripted' }, tools: { model: 'dev/tools' }, one: { model: 'dev/scripted' } };

/** As the earlier version kept them: what it left in the middle of its work, when its process was killed. */
const FIELDS: Record<string, z.ZodType> = {
  activeTurn: z.string(),
  metadata: z.string(),
  steps: z.array(z.string()),
  failure: z.string(),
  result: z.object({
    response: z.string(),
    tokensUsed: z.object({ input: z.int(), output: z.int(), total: z.int() }),
    finishReason: z.string(),
  }),
  scopes: z.array(z.string()),
};
const NUMBERS = [
  'activeSince',
  'nextTurnSeq',
  'messageCount',
  'inputTokens',
  'outputTokens',
  'costUsd',
  'lastSteps',
  'createdAt',
  'updatedAt',
  'seq',
  'leaseUntil',
  'fence',
  'attempts',
  'lastFrame',
  'startedAt',
  'finishedAt',
];
const TIMES = ['createdAt', 'updatedAt', 'startedAt', 'finishedAt', 'leaseUntil', 'activeSince'];
const TEXTS = [
  'key',
  'agentId',
  'userId',
  'channelId',
  'guildId',
  'kind',
  'createdBy',
  'turnId',
  'sessionKey',
  'message',
  'client',
  'idempotencyKey',
  'fingerprint',
  'state',
  'owner',
];
const Earlier = z.object({
  ...Object.fromEntries(TEXTS.map((name) => [name, z.string().nullable().optional()])),
  ...Object.fromEntries(NUMBERS.map((name) => [name, z.number().optional()])),
  ...Object.fromEntries(Object.entries(FIELDS).map(([name, type]) => [name, type.nullable().optional()])),
});

type Kept = Record<'sessions' | 'turns' | 'messages', Record<string, unknown>[]>;

/** What was kept, as if it had been a moment ago: keys are remembered for a day. */
async function justNow(): Promise<Kept> {
  const kept = JSON.parse(await readFile(new URL('spine.fixture.json', import.meta.url), 'utf8')) as Kept;
  const documents = Object.values(kept).flat();
  const later = Date.now() - Math.max(...documents.map((document) => Number(document['createdAt'] ?? 0)));
  for (const document of documents)
    for (const name of TIMES) if (typeof document[name] === 'number') document[name] = document[name] + later;
  return kept;
}

async function leave(data: string): Promise<Kept> {
  const kept = await justNow();
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({
    sessions: collection({ name: 'sessions', schema: Earlier, key: 'key' }),
    turns: collection({ name: 'turns', schema: Earlier, key: 'turnId' }),
    messages: earlierMessages,
  });
  for (const name of ['sessions', 'turns', 'messages'] as const) {
    for (const document of kept[name]) await opened[name].for(tenant).insert(document as never);
  }
  await store.close();
  return kept;
}

test('a directory of the earlier version is gone on with: its history, its answers under keys, its turns that wait', async () => {
  await using data = await tempDir();
  const kept = await leave(data.path);
  await using app = await testSessions({ data: data.path, as: alice, agents, settings });
  const history = async (session_key: string) =>
    (await app.bus.call('session.history', { session_key })).messages.map(({ content }) => content);
  const before = (key: string) => kept.messages.filter(({ sessionKey }) => sessionKey === key).map(({ content }) => content);

  for (const channel of ['gateway', 'long', 'emptied']) {
    const key = `default:alice:${channel}`;
    assert.deepEqual(await history(key), before(key));
  }
  assert.deepEqual(before('default:alice:emptied').slice(0, 1), ['after it']);
  assert.equal(
    (await app.bus.call('agent.execute', { message: 'the first question', idempotencyKey: 'kept' })).response,
    before('default:alice:gateway')[1],
  );
  await assert.rejects(app.bus.call('agent.execute', { message: 'another', idempotencyKey: 'kept' }), { code: 'INVALID_ARGUMENT' });

  const state = async (name: string) => app.bus.call('turns.resume', { turnId: turnIdOf(name) });
  for (const name of ['running', 'behind', 'behindtoo', 'waits']) assert.equal((await ended(app.bus, turnIdOf(name))).state, 'done');
  // One that had used a tool cannot be gone on with: nothing says what else it did.
  assert.deepEqual([(await state('tooled')).state, (await state('tooled')).failure?.details?.['reason']], ['failed', 'INTERRUPTED']);
  const answers = (await history('agent:scripted:default:alice:gateway')).filter((_, at) => at % 2 === 1);
  assert.deepEqual(answers, ['ran to its end', 'came after it', 'came last']);

  await app.bus.call('agent.execute', { message: 'and on' });
  const { sessions } = await app.bus.call('session.list', {});
  assert.equal(sessions.find(({ sessionKey }) => sessionKey === 'default:alice:gateway')?.messageCount, 6);
  assert.equal((await history('default:alice:gateway')).length, 6);
});

test('conversations stay apart: what was said in one is found and told in no other', async () => {
  await using data = await tempDir();
  await leave(data.path);
  await using upstream = await startUpstream({ kind: 'text', text: 'well' });
  const entries = { local: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'm' }] } };
  const own = { ...agents, default: { provider: 'local', model: 'm' } };
  await using app = await testSessions({ data: data.path, as: alice, agents: own, settings: { ...settings, providers: { entries } } });
  const found = await app.bus.call('session.search', { query: 'second question', limit: 20 });
  assert.deepEqual([...new Set(found.map(({ sessionKey }) => sessionKey))], ['default:alice:gateway']);
  await app.bus.call('agent.execute', { message: 'and on', sessionKey: { channelId: 'emptied' } });
  const told = (upstream.requests.at(-1)?.body.messages ?? []) as { content: string }[];
  assert.deepEqual([told.length, told[0]?.content, told.at(-1)?.content], [3, 'after it', 'and on']);
});

test('two replicas that start together, and a second start, do it once', async () => {
  await using data = await tempDir();
  await leave(data.path);
  const said: unknown[] = [];
  for (let start = 0; start < 2; start += 1) {
    await using app = await testSessions({ data: data.path, as: alice, agents, settings });
    await using _second = await startService(service, app.host);
    said.push((await app.bus.call('session.history', { session_key: 'default:alice:gateway' })).messages);
    await app.bus.call('agent.execute', { message: `start ${start}`, sessionKey: { channelId: 'long' } });
    said.push((await app.bus.call('session.export', { session_key: 'default:alice:long' })).messageCount);
  }
  assert.deepEqual(said[2], said[0]);
  assert.deepEqual([said[1], said[3]], [4, 6]);
});
