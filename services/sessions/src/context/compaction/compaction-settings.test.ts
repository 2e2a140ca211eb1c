import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { testSessions } from '../../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const SUMMARY = 'They spoke of harbours.';
const WORDS = 'harbour '.repeat(20);
const PATIENCE_MS = 10_000;
const ENGINE = {
  freshTailTurns: 1,
  leafMinFanout: 2,
  compactionPrefixAnchorTurns: 0,
  compactionModel: 'writer/m',
  // Summaries are made before the turn continues, so that the test does not have to wait.
  deferCompaction: false,
};

interface House extends AsyncDisposable {
  app: TestService;
  /** Upstreams for turns, for summaries, and for summaries by another model. */
  upstream: Upstream;
  writer: Upstream;
  other: Upstream;
}

interface SetupOptions {
  compaction?: object;
  engine?: object;
  agent?: object;
  model?: object;
}

async function start({ compaction = {}, engine = {}, agent = {}, model = {} }: SetupOptions): Promise<House> {
  const stack = new AsyncDisposableStack();
  const behaviour = { kind: 'text', text: SUMMARY } as const;
  const [upstream, writer, other] = await Promise.all([1, 2, 3].map(() => startUpstream(behaviour)));
  assert.ok(upstream && writer && other);
  for (const one of [upstream, writer, other]) stack.use(one);
  const getEntry = ({ url }: Upstream) => ({
    type: 'openai-compatible' as const,
    baseUrl: url,
    maxRetries: 0,
    models: [{ id: 'm', contextWindow: 128_000, ...model }],
  });
  const settings = { providers: { entries: { local: getEntry(upstream), writer: getEntry(writer), other: getEntry(other) } } };
  const config = {
    provider: 'local',
    model: 'm',
    maxContextChars: 4_000,
    contextEngine: { ...ENGINE, ...engine },
    session: { compaction: { keepRecentTokens: 1, ...compaction } },
    ...agent,
  };
  const app = stack.use(await testSessions({ as: admin, settings, agents: { default: config } }));
  return { app, upstream, writer, other, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function sendMessage(
  { app }: House,
  count: number,
  { words = WORDS, userId }: { words?: string; userId?: string } = {},
): Promise<void> {
  const sessionKey = userId === undefined ? {} : { sessionKey: { userId } };
  for (let n = 0; n < count; n += 1) await app.bus.call('agent.execute', { message: `${n}: ${words}`, ...sessionKey });
}

const getPromptMessages = ({ upstream }: House) => upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
const createRequest = ({ body }: Upstream['requests'][number]) => (body.messages as { content: string }[]).at(-1)?.content ?? '';
const compact = ({ app }: House) => app.bus.call('session.compact', { key: KEY });
const preview = async ({ app }: House) => (await app.bus.call('context.tree', { conversation_id: KEY })).nodes[0]?.contentPreview ?? '';

test('compaction starts above softThresholdRatio, or above contextThreshold if that is changed', async () => {
  const createdItems: boolean[] = [];
  for (const [softThresholdRatio, contextThreshold] of [
    [0.2, undefined],
    [0.8, undefined],
    [0.2, 0.8],
    [0.8, 0.2],
  ]) {
    await using house = await start({ compaction: { softThresholdRatio }, engine: contextThreshold ? { contextThreshold } : {} });
    await sendMessage(house, 7);
    createdItems.push(house.writer.requests.length > 0);
  }
  assert.deepEqual(createdItems, [true, false, false, true]);
});

test('a turn waits for deferred compaction above hardThresholdRatio and not below it', async () => {
  const waited: unknown[] = [];
  for (const hardThresholdRatio of [0.3, 1]) {
    const compaction = { softThresholdRatio: 0.1, hardThresholdRatio };
    await using house = await start({ compaction, engine: { deferCompaction: true } });
    // One process runs at most two background compactions. These two stall and block the others.
    house.writer.respond({ kind: 'stall' }, { kind: 'stall' }, { kind: 'text', text: SUMMARY });
    for (const userId of ['ann', 'bob']) await sendMessage(house, 3, { userId });
    for (const end = Date.now() + PATIENCE_MS; house.writer.requests.length < 2; await wait(5)) assert.ok(Date.now() < end);
    await sendMessage(house, 8);
    waited.push([house.writer.requests.length > 2, getPromptMessages(house)[0]?.content.includes('"earlier"')]);
  }
  assert.deepEqual(waited, [
    [true, true],
    [false, false],
  ]);
});

test('a turn waits for compaction for at most half of its timeout and then continues', async () => {
  const compaction = { softThresholdRatio: 0.1, hardThresholdRatio: 0.1 };
  const agent = { promptTimeout: { promptTimeoutMs: 300, stallCeilingMultiplier: 1 } };
  await using house = await start({ compaction, engine: { deferCompaction: true }, agent });
  house.writer.respond({ kind: 'stall' });
  await sendMessage(house, 3);
  await house.writer.firstRequest;
  const { finishReason } = await house.app.bus.call('agent.execute', { message: 'and now?' });
  assert.deepEqual([finishReason, getPromptMessages(house).length, house.writer.requests.length], ['stop', 7, 1]);
});

test('flushModel writes the summaries if the context engine has no compactionModel', async () => {
  const counts: number[][] = [];
  for (const compactionModel of ['', 'writer/m']) {
    await using house = await start({ compaction: { flushModel: 'other/m' }, engine: { compactionModel } });
    await sendMessage(house, 4);
    await compact(house);
    counts.push([house.other.requests.length, house.writer.requests.length]);
  }
  assert.deepEqual(counts, [
    [1, 0],
    [0, 1],
  ]);
});

test('splits input above chunkMaxChars into overlapping chunks and merges or concatenates their summaries', async () => {
  const lines: string[][][] = [];
  const made: string[] = [];
  for (const chunkMergeSummaries of [true, false]) {
    await using house = await start({ compaction: { chunkMaxChars: 550, chunkOverlapMessages: 1, chunkMergeSummaries } });
    house.writer.respond({ kind: 'text', text: 'One.' }, { kind: 'text', text: 'Two.' }, { kind: 'text', text: 'Three.' });
    await sendMessage(house, 4);
    await compact(house);
    const all = house.writer.requests.map((request) => createRequest(request).split('\n').slice(1));
    lines.push(all.map((promptMessages) => promptMessages.map((line) => line.replaceAll(/harbour +|They spoke of /g, ''))));
    made.push(await preview(house));
  }
  const readText = (n: number) => [`{"user":"${n}: "}`, '{"assistant":"harbours."}'];
  assert.deepEqual(lines[0]?.slice(0, 2), [
    [...readText(0), ...readText(1)],
    ['{"assistant":"harbours."}', ...readText(2)],
  ]);
  assert.deepEqual(lines[0]?.at(-1), ['{"summary":"One."}', '{"summary":"Two."}']);
  assert.deepEqual([lines[0]?.length, lines[1]?.length], [3, 2]);
  assert.deepEqual(made, ['Three.', 'One.\nTwo.']);
});

test('reserves reserveTokens for the answer, but at most a quarter of a small window', async () => {
  const counts: number[] = [];
  for (const reserveTokens of [256, 500, 16_384]) {
    const agent = { contextGuard: { enabled: false }, maxContextChars: 100_000 };
    const engine = { budget: { minVisibleOutputTokens: 256 }, deferCompaction: true, freshTailTurns: 8 };
    await using house = await start({ compaction: { reserveTokens }, engine, agent, model: { contextWindow: 2_000 } });
    await sendMessage(house, 6, { words: 'x'.repeat(900) });
    counts.push(getPromptMessages(house).length);
  }
  assert.deepEqual(counts, [7, 5, 5]);
});

test('keeps keepRecentTokens of the newest messages verbatim, and fewer on an explicit compaction', async () => {
  const counts: number[] = [];
  for (const keepRecentTokens of [1, 200]) {
    await using house = await start({ compaction: { keepRecentTokens, softThresholdRatio: 0.5 } });
    await sendMessage(house, 12);
    counts.push(getPromptMessages(house).length);
    await compact(house);
    await sendMessage(house, 1);
    counts.push(getPromptMessages(house).length);
  }
  const summary = 1;
  const question = 1;
  assert.deepEqual(counts, [summary + 2 + question, summary + 2 + question, summary + 10 + question, summary + 2 + question]);
});
