import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const SUMMARY = 'They spoke of harbours.';
const WORDS = 'harbour '.repeat(20);
const engine = { freshTailTurns: 2, leafMinFanout: 4, leafChunkTokens: 1_000, leafTargetTokens: 96 };

interface House extends AsyncDisposable {
  app: TestService;
  /** Upstream for turns. */
  upstream: Upstream;
  /** Upstream for summaries. */
  writer: Upstream;
}

async function start(contextEngine: object, config: object = {}, others: Record<string, Upstream> = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const [upstream, writer] = [1, 2].map(async () => stack.use(await startUpstream({ kind: 'text', text: SUMMARY })));
  const all = { local: await upstream, writer: await writer, ...others } as Record<string, Upstream>;
  const entries = Object.fromEntries(
    Object.entries(all).map(([id, { url }]) => [
      id,
      { type: 'openai-compatible' as const, baseUrl: url, maxRetries: 0, models: [{ id: 'm', contextWindow: 128_000 }] },
    ]),
  );
  const agent = { provider: 'local', model: 'm', contextEngine: { ...engine, compactionModel: 'writer/m', ...contextEngine }, ...config };
  const app = stack.use(await testSessions({ as: admin, settings: { providers: { entries } }, agents: { default: agent } }));
  const options = { upstream: await upstream, writer: await writer } as Pick<House, 'upstream' | 'writer'>;
  return { app, ...options, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function sendMessage({ app }: House, count: number, more: object = {}): Promise<void> {
  for (let n = 0; n < count; n += 1) await app.bus.call('agent.execute', { message: `${n}: ${WORDS}`, ...more });
}

const compact = ({ app }: House) => app.bus.call('session.compact', { key: KEY });
const tree = ({ app }: House) => app.bus.call('context.tree', { conversation_id: KEY });
function getPromptMessages({ upstream }: House): number {
  const messages: unknown[] = upstream.requests.at(-1)?.body.messages ?? [];
  return messages.length;
}

/** Waits until no compaction is running. */
async function settled(house: House): Promise<void> {
  for (let before = -1; before !== house.writer.requests.length;) {
    before = house.writer.requests.length;
    await setTimeout(100);
  }
}

test('historyTurns limits the exchanges in the prompt, and historyTurnOverrides does so for one kind of chat', async () => {
  await using house = await start({ historyTurns: 3, historyTurnOverrides: { group: 5, thread: 1 } });
  const counts: number[] = [];
  for (const sessionKey of [{}, { guildId: 'g' }, { guildId: 'g', threadId: 't' }]) {
    await sendMessage(house, 8, { sessionKey });
    counts.push(getPromptMessages(house));
  }
  assert.deepEqual(counts, [2 * 3 + 1, 2 * 5 + 1, 2 * 1 + 1]);
});

test('truncates messages without a model after summarizerBreaker.failureThreshold consecutive failures', async () => {
  await using house = await start({ summarizerBreaker: { failureThreshold: 2, resetTimeoutMs: 600_000 } });
  await sendMessage(house, 4);
  house.writer.respond({ kind: 'status', status: 400 });
  for (const _ of [1, 2]) await assert.rejects(compact(house), { code: 'FAILED_PRECONDITION' });
  const requestCount = house.writer.requests.length;
  assert.equal((await compact(house)).compactionTriggered, true);
  assert.equal(house.writer.requests.length, requestCount);
  assert.match((await tree(house)).nodes[0]?.contentPreview ?? '', /^user: 0: harbour/);
});

test('calls the summarizer again after summarizerBreaker.resetTimeoutMs', async () => {
  await using house = await start({ summarizerBreaker: { failureThreshold: 1, resetTimeoutMs: 1 } });
  await sendMessage(house, 4);
  house.writer.respond({ kind: 'status', status: 400 });
  await assert.rejects(compact(house));
  house.writer.respond({ kind: 'text', text: SUMMARY });
  await setTimeout(5);
  await compact(house);
  assert.equal((await tree(house)).nodes[0]?.contentPreview, SUMMARY);
});

test('retries a failed summary with the same model of compaction.summarizerFallbackProviders', async () => {
  await using other = await startUpstream({ kind: 'text', text: 'Made elsewhere.' });
  await using house = await start({ compaction: { summarizerFallbackProviders: ['nowhere', 'other'] } }, {}, { other });
  await sendMessage(house, 4);
  house.writer.respond({ kind: 'status', status: 400 });
  await compact(house);
  assert.equal((await tree(house)).nodes[0]?.contentPreview, 'Made elsewhere.');
  assert.deepEqual([house.writer.requests.length, other.requests.length], [1, 1]);
});

test('retries an unusable summary with compaction.strongerSummarizerModel', async () => {
  await using strong = await startUpstream({ kind: 'text', text: 'Short.' });
  await using house = await start({ compaction: { strongerSummarizerModel: 'strong/m' } }, {}, { strong });
  await sendMessage(house, 4);
  house.writer.respond({ kind: 'text', text: 'word '.repeat(2_000) });
  await compact(house);
  assert.equal((await tree(house)).nodes[0]?.contentPreview, 'Short.');
  assert.deepEqual([house.writer.requests.length, strong.requests.length], [1, 1]);
});

test('session.compact folds condensedMinFanoutHard summaries into one', async () => {
  const depths: unknown[] = [];
  for (const condensedMinFanoutHard of [3, 4]) {
    await using house = await start({ condensedMinFanout: 10, condensedMinFanoutHard });
    await sendMessage(house, 2);
    for (let n = 0; n < 3; n += 1) {
      await sendMessage(house, 2);
      await compact(house);
    }
    depths.push((await tree(house)).nodes.map(({ depth, childIds }) => [depth, childIds.length]));
  }
  const leaf = [0, 0];
  assert.deepEqual(depths, [
    [[1, 3], leaf, leaf, leaf],
    [leaf, leaf, leaf],
  ]);
});

test('compactionCooldownTurns delays the next summary in pipeline mode and not in dag mode', async () => {
  const createdItems: number[] = [];
  for (const version of ['pipeline', 'dag']) {
    const settings = { version, contextThreshold: 0.1, leafMinFanout: 2, compactionCooldownTurns: 4 };
    await using house = await start(settings, { maxContextChars: 8_000 });
    await sendMessage(house, 6);
    await settled(house);
    const first = house.writer.requests.length;
    assert.ok(first > 0);
    await sendMessage(house, 2);
    await settled(house);
    createdItems.push(house.writer.requests.length - first);
  }
  assert.deepEqual([createdItems[0], (createdItems[1] ?? 0) > 0], [0, true]);
});

test('drops the results of repeated identical tool calls from the prompt after evictionMinAge steps', async () => {
  await using house = await start({ evictionMinAge: 3 }, { contextGuard: { enabled: false } });
  await sendMessage(house, 2);
  const call = { kind: 'tools' as const, calls: [{ name: 'session_history', arguments: {} }] };
  house.upstream.respond(call, call, call, call, call, { kind: 'text', text: SUMMARY });
  await house.app.bus.call('agent.execute', { message: 'look' });
  const texts = house.upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
  const answers = texts.filter(({ role }) => role === 'tool').map(({ content }) => /was removed to save space/.test(content));
  assert.deepEqual(answers, [true, true, false, false, false]);
});
