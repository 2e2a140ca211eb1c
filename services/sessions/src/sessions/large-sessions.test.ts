import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '@switchyard/store';
import type { Result } from '@switchyard/contracts';
import { tempDir, type TestService } from '@switchyard/testkit';
import { sessionCollection, type SessionDocument } from '../model/session-document.ts';
import { turnCollection, type TurnDocument } from '../model/turn-document.ts';
import { storeText } from '../model/stored-text.ts';
import { bodyCollection } from '../model/text-document.ts';
import { testSessions, getTurnId } from '../sessions.fixture.ts';

const KEY = 'default:test:gateway';

function session(key: string, at: number, fields: Partial<SessionDocument> = {}): SessionDocument {
  const counts = {
    messageCount: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    lastSteps: 0,
    lastSeq: 0,
    depth: 0,
    fence: 0,
    leaseUntil: 0,
  };
  const times = { createdAt: at, updatedAt: at };
  return {
    key,
    agentId: 'default',
    userId: 'test',
    channelId: 'gateway',
    kind: 'dm',
    epoch: 'e',
    queue: [],
    owner: null,
    metadata: {},
    ...counts,
    ...times,
    ...fields,
  };
}

/** Creates sessions with the given questions and answers as finished turns. */
async function fill(data: string, sessions: readonly SessionDocument[], exchanges: readonly (readonly [string, string])[]): Promise<void> {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({ sessions: sessionCollection, turns: turnCollection, bodies: bodyCollection });
  const mine = { tenant: 'default' };
  const bodies = opened.bodies.for(mine);
  await Promise.all([
    ...sessions.map((one) => opened.sessions.for(mine).insert(one)),
    ...exchanges.map(async ([question, answer], at) => {
      const turnId = getTurnId(`t${at}x`);
      const content = { message: await storeText(bodies, turnId, question), answer: await storeText(bodies, turnId, answer) };
      await opened.turns.for(mine).insert({ ...done(turnId, at), ...content });
    }),
  ]);
  await store.close();
}

function done(turnId: string, at: number): Omit<TurnDocument, 'message'> {
  const work = { state: 'done' as const, fence: 1, attempts: 1, checkpoints: 0, steps: [], tail: [], fingerprint: '' };
  const ended = { tokensUsed: { input: 0, output: 0, total: 0 }, finishReason: 'stop' as const, seq: at + 1, epoch: 'e' };
  return { turnId, sessionKey: KEY, agentId: 'default', client: 'test', scopes: [], createdAt: at, finishedAt: at, ...work, ...ended };
}

test('lists the newest of more than a thousand sessions and counts every kind', async () => {
  await using data = await tempDir();
  const dms = Array.from({ length: 1_200 }, (_, at) => session(`default:u${at}:gateway`, 1_000 + at));
  const groups = Array.from({ length: 3 }, (_, at) => session(`default:u:gateway:guild:g${at}`, at, { kind: 'group', guildId: `g${at}` }));
  await fill(data.path, [...dms, ...groups], []);
  await using app = await testSessions({ data: data.path });
  const all = await app.bus.call('session.list', {});
  assert.deepEqual([all.sessions.length, all.total, all.sessions[0]?.sessionKey], [1_000, 1_203, 'default:u1199:gateway']);
  const listed = await app.bus.call('session.list', { kind: 'group' });
  assert.deepEqual([listed.sessions.length, listed.total], [3, 3]);
  const dm = await app.bus.call('session.list', { kind: 'dm' });
  assert.deepEqual([dm.sessions.length, dm.total], [1_000, 1_200]);
});

test('finds a client’s own session among many newer ones of other clients', async () => {
  await using data = await tempDir();
  const others = Array.from({ length: 1_200 }, (_, at) => session(`default:u${at}:gateway`, 1_000 + at, { createdBy: `u${at}` }));
  await fill(
    data.path,
    [session(KEY, 1, { createdBy: 'test', messageCount: 2, lastSeq: 1, inputTokens: 7 }), ...others],
    [['mine', 'yours']],
  );
  await using app = await testSessions({ data: data.path });
  for (const params of [{}, { channelId: 'gateway' }])
    assert.equal((await app.bus.call('session.history', params)).messages[0]?.content, 'mine');
  assert.equal((await app.bus.call('session.status', {})).tokensUsed.totalTokens, 7);
});

test('returns a history of more than a thousand messages completely and in order', async () => {
  await using data = await tempDir();
  await fill(
    data.path,
    [session(KEY, 1, { messageCount: 2_500, lastSeq: 1_250 })],
    Array.from({ length: 1_250 }, (_, at) => [`message ${at * 2}`, `message ${at * 2 + 1}`] as const),
  );
  await using app = await testSessions({ data: data.path });
  const { messages } = await app.bus.call('session.history', { session_key: KEY });
  assert.deepEqual(
    messages.map(({ content }) => content),
    Array.from({ length: 2_500 }, (_, seq) => `message ${seq}`),
  );
  assert.equal((await app.bus.call('session.delete', { session_key: KEY })).transcript.messageCount, 2_500);
});

test('does not delete a session whose transcript is too large for a reply', async () => {
  await using data = await tempDir();
  await fill(
    data.path,
    [session(KEY, 1, { messageCount: 10, lastSeq: 5 })],
    Array.from({ length: 5 }, () => ['x'.repeat(1_000_000), 'y'.repeat(1_000_000)] as const),
  );
  await using app = await testSessions({ data: data.path });
  await assert.rejects(app.bus.call('session.delete', { session_key: KEY }), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await app.bus.call('session.reset', { session_key: KEY }), { sessionKey: KEY, reset: true, previousMessageCount: 10 });
  assert.equal((await app.bus.call('session.delete', { session_key: KEY })).deleted, true);
});

/** Reads all pages, the newest first. */
async function readPages({ bus }: TestService, limit?: number) {
  const pages: Result<'session.history'>[] = [];
  for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined; cursor = pages.at(-1)?.cursor)
    pages.push(await bus.call('session.history', { session_key: KEY, limit, cursor }));
  return pages;
}

test('pages of a history have at most 1 MiB and together contain every message once', async () => {
  await using data = await tempDir();
  const texts = Array.from({ length: 60 }, (_, at) => [`${at} ${'ß'.repeat(20_000)}`, `${at} ${'\u0001'.repeat(5_000)}`] as const);
  await fill(data.path, [session(KEY, 1, { messageCount: 120, lastSeq: 60 })], texts);
  await using app = await testSessions({ data: data.path });
  const pages = await readPages(app);
  assert.ok(pages.length >= 4, `${pages.length} pages`);
  for (const { messages } of pages) assert.ok(Buffer.byteLength(JSON.stringify(messages)) <= 1024 * 1024);
  const contents = pages.toReversed().flatMap(({ messages }) => messages.map(({ content }) => content));
  assert.deepEqual(contents, texts.flat());
});

test('a page of a history has at most so many messages as requested, in whole turns', async () => {
  await using data = await tempDir();
  await fill(
    data.path,
    [session(KEY, 1, { messageCount: 10, lastSeq: 5 })],
    Array.from({ length: 5 }, (_, at) => [`${at}`, `${at}!`] as const),
  );
  await using app = await testSessions({ data: data.path });
  const contents = (pages: readonly Result<'session.history'>[]) =>
    pages.map(({ messages }) => messages.map(({ content }) => content).join(' '));
  assert.deepEqual(contents(await readPages(app, 4)), ['3 3! 4 4!', '1 1! 2 2!', '0 0!']);
  assert.deepEqual(contents(await readPages(app, 1)), ['4 4!', '3 3!', '2 2!', '1 1!', '0 0!']);
  const { cursor } = await app.bus.call('session.history', { session_key: KEY, limit: 4 });
  await app.bus.call('session.reset', { session_key: KEY });
  await assert.rejects(app.bus.call('session.history', { session_key: KEY, cursor }), {
    code: 'INVALID_ARGUMENT',
    message: /^Invalid params: cursor/,
  });
});

test('a turn larger than a page is returned whole', async () => {
  await using data = await tempDir();
  const texts = Array.from({ length: 2 }, (_, at) => [`${at} ${'x'.repeat(1_000_000)}`, `${at} ${'y'.repeat(1_000_000)}`] as const);
  await fill(data.path, [session(KEY, 1, { messageCount: 4, lastSeq: 2 })], texts);
  await using app = await testSessions({ data: data.path });
  assert.deepEqual(
    (await readPages(app)).map(({ messages }) => messages.length),
    [2, 2],
  );
});

test('many reads of a large history at a time take bounded memory', async () => {
  await using data = await tempDir();
  const texts = Array.from({ length: 40 }, () => ['x'.repeat(100_000), 'y'.repeat(100_000)] as const);
  await fill(data.path, [session(KEY, 1, { messageCount: 80, lastSeq: 40 })], texts);
  await using app = await testSessions({ data: data.path });
  const before = process.memoryUsage.rss();
  const answers = await Promise.all(
    Array.from({ length: 100 }, async () => (await app.bus.call('session.history', { session_key: KEY })).messages.length),
  );
  assert.deepEqual(new Set(answers), new Set([10]));
  const grown = (process.memoryUsage.rss() - before) / 1_048_576;
  assert.ok(grown < 400, `${Math.round(grown)} MiB`);
});
