import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { memory, ServiceError, type Input } from '@switchyard/contracts';
import { principal, startUpstream, type TestService, type Upstream } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

const admin = principal({ scopes: ['*'] });
const KEY = 'default:test:gateway';
const SUMMARY = 'They spoke of harbours.';
const WORDS = 'harbour '.repeat(20);
const BASE = { freshTailTurns: 2, leafMinFanout: 4, leafChunkTokens: 1_000, leafTargetTokens: 96, compactionModel: 'writer/m' };
const PATIENCE_MS = 10_000;

interface House extends AsyncDisposable {
  app: TestService;
  /** Upstreams for turns and for summaries. */
  upstream: Upstream;
  writer: Upstream;
}

interface SetupOptions {
  engine?: object;
  agent?: object;
  /** Settings of both models. */
  model?: object;
}

async function start({ engine = {}, agent = {}, model = {} }: SetupOptions = {}): Promise<House> {
  const stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const writer = stack.use(await startUpstream({ kind: 'text', text: SUMMARY }));
  const getEntry = ({ url }: Upstream) => ({
    type: 'openai-compatible' as const,
    baseUrl: url,
    maxRetries: 0,
    models: [{ id: 'm', contextWindow: 128_000, ...model }],
  });
  const settings = { providers: { entries: { local: getEntry(upstream), writer: getEntry(writer) } } };
  const config = { provider: 'local', model: 'm', contextEngine: { ...BASE, ...engine }, ...agent };
  const app = stack.use(await testSessions({ as: admin, settings, agents: { default: config }, timing: { sweepMs: 20 } }));
  return { app, upstream, writer, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function sendMessage({ app }: House, count: number, words = WORDS): Promise<void> {
  for (let n = 0; n < count; n += 1) await app.bus.call('agent.execute', { message: `${n}: ${words}` });
}

const getPromptMessages = ({ upstream }: House) => upstream.requests.at(-1)?.body.messages as { role: string; content: string }[];
const tree = async ({ app }: House) => (await app.bus.call('context.tree', { conversation_id: KEY })).nodes;
const compact = ({ app }: House) => app.bus.call('session.compact', { key: KEY });

async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await holds()); await wait(10)) assert.ok(Date.now() < end, 'condition was never met');
}

test('budget.effectiveContextCap limits the window of small and nano models, 0 disables it, and other models are not limited', async () => {
  const long = 'x'.repeat(900);
  const counts: number[] = [];
  for (const [capabilityClass, budget] of [
    ['nano', { effectiveContextCapNano: 2_000 }],
    ['small', { effectiveContextCapSmall: 2_000 }],
    ['nano', { effectiveContextCapNano: 0 }],
    ['mid', { effectiveContextCapSmall: 2_000, effectiveContextCapNano: 2_000 }],
  ] as const) {
    await using house = await start({ model: { capabilityClass }, engine: { budget }, agent: { contextGuard: { enabled: false } } });
    await sendMessage(house, 6, long);
    counts.push(getPromptMessages(house).length);
  }
  assert.deepEqual(counts, [5, 5, 11, 11]);
});

test('ends with context_exhausted if less than budget.minVisibleOutputTokens is left for the answer', async () => {
  const reasons: unknown[] = [];
  for (const minVisibleOutputTokens of [256, 768]) {
    await using house = await start({ model: { contextWindow: 4_000 }, engine: { budget: { minVisibleOutputTokens } } });
    const { finishReason } = await house.app.bus.call('agent.execute', { message: 'x'.repeat(4 * 3_300) });
    reasons.push(finishReason);
  }
  assert.deepEqual(reasons, ['stop', 'context_exhausted']);
});

test('compactPrompt shortens the tool specifications for a small model and keeps every tool', async () => {
  const sizes: number[] = [];
  const names: string[][] = [];
  for (const [capabilityClass, enabled] of [
    ['frontier', true],
    ['small', false],
    ['small', true],
  ] as const) {
    await using house = await start({ model: { capabilityClass }, engine: { compactPrompt: { enabled, targetTokens: 300 } } });
    await sendMessage(house, 1);
    const tools = house.upstream.requests.at(-1)?.body.tools as { function: { name: string } }[];
    sizes.push(JSON.stringify(tools).length);
    names.push(tools.map((tool) => tool.function.name));
  }
  const [frontier = 0, off = 0, on = 0] = sizes;
  assert.equal(frontier, off);
  assert.ok(on < off * 0.85, `${on} of ${off}`);
  assert.deepEqual(names[2], names[0]);
});

test('pipeline mode keeps the first compactionPrefixAnchorTurns turns before the summaries and in the history', async () => {
  const begins: unknown[] = [];
  for (const [version, compactionPrefixAnchorTurns] of [
    ['pipeline', 0],
    ['pipeline', 2],
    ['dag', 2],
  ] as const) {
    const engine = { version, compactionPrefixAnchorTurns, contextThreshold: 0.1, leafMinFanout: 2 };
    await using house = await start({ engine, agent: { maxContextChars: 8_000 } });
    await sendMessage(house, 8);
    await waitUntil(async () => (await tree(house)).length > 0);
    await sendMessage(house, 1, 'and now');
    begins.push(
      getPromptMessages(house)
        .map(({ content }) => (content.includes('"earlier"') ? 'summary' : content.slice(0, 2)))
        .slice(0, 5),
    );
    const { messages } = await house.app.bus.call('session.export', { session_key: KEY });
    assert.equal(messages.length, 18);
  }
  const [without, anchored, dag] = begins as string[][];
  assert.equal(without?.[0], 'summary');
  assert.deepEqual(anchored, ['0:', 'Th', '1:', 'Th', 'summary']);
  assert.equal(dag?.[0], 'summary');
});

test('deferCompaction off compacts within the turn that exceeds the threshold and not after turns', async () => {
  const engine = { deferCompaction: false, contextThreshold: 0.5, leafMinFanout: 2, compactionPrefixAnchorTurns: 0 };
  await using house = await start({ engine, agent: { maxContextChars: 8_000 } });
  await sendMessage(house, 3);
  await sendMessage(house, 1, 'x'.repeat(4_000));
  assert.equal(house.writer.requests.length, 0);
  await wait(100);
  assert.equal(house.writer.requests.length, 0, 'not after the turn');
  await sendMessage(house, 1);
  assert.ok(house.writer.requests.length > 0);
  assert.match(getPromptMessages(house)[0]?.content ?? '', /They spoke of harbours/);
});

test('a failed summary does not fail the turn with deferCompaction off', async () => {
  const engine = { deferCompaction: false, contextThreshold: 0.1, leafMinFanout: 2 };
  await using house = await start({ engine, agent: { maxContextChars: 4_000 } });
  house.writer.respond({ kind: 'status', status: 400 });
  await sendMessage(house, 6);
  assert.ok(house.writer.requests.length > 0);
  assert.equal((await house.app.bus.call('agent.execute', { message: 'still there?' })).finishReason, 'stop');
});

test('shortens an earlier message above largeFileTokenThreshold, and ctx.inspect returns the rest', async () => {
  const file = `${'line of a file, '.repeat(400)}the end`;
  const lengths: number[] = [];
  for (const largeFileTokenThreshold of [1_000, 2_000]) {
    await using house = await start({ engine: { largeFileTokenThreshold } });
    await sendMessage(house, 1, file);
    assert.ok((getPromptMessages(house)[0]?.content.length ?? 0) > 6_000, 'what is asked now is told whole');
    await sendMessage(house, 1, 'what was that?');
    const [{ content } = { content: '' }] = getPromptMessages(house);
    lengths.push(content.length);
    const id = /"id":"(turn_[^"]+)"/.exec(content)?.[1];
    if (id === undefined) continue;
    const own = await house.app.host.connect('sessions');
    const inside = own.as(principal({ scopes: ['*'], session: KEY, agent: 'default' }));
    const rest = await inside.call('ctx.inspect', { id, offset: 1_000 });
    assert.equal(content.slice(0, 1_000) + rest.content, `0: ${file}`);
  }
  assert.ok((lengths[0] ?? 0) < 1_300, `${lengths[0]}`);
  assert.equal(lengths[1], file.length + 3);
});

test('compaction.preferEvictionByCapability makes no summaries with a small model', async () => {
  const createdItems: unknown[] = [];
  for (const preferEvictionByCapability of [true, false]) {
    await using house = await start({ model: { capabilityClass: 'small' }, engine: { compaction: { preferEvictionByCapability } } });
    await sendMessage(house, 4);
    await compact(house);
    createdItems.push([house.writer.requests.length, (await tree(house))[0]?.contentPreview.slice(0, 8)]);
  }
  assert.deepEqual(createdItems, [
    [0, 'user: 0:'],
    [1, 'They spo'],
  ]);
});

test('memory.distillFromLcd captures each summary of minDepth once, also after an outage of the memory service', async () => {
  const memories: unknown[] = [];
  for (const distillFromLcd of [{ enabled: false }, { enabled: true, minDepth: 1, dedupCosineThreshold: 0.5 }]) {
    await using house = await start({ engine: { memory: { distillFromLcd }, condensedMinFanout: 2, incrementalMaxDepth: -1 } });
    const keptItems: Input<'memory.capture'>['captured'][number][] = [];
    let away = 1;
    const handlers = {
      'memory.recall': () => ({ entries: [], empty: true, textCandidates: 0, vectorCandidates: 0 }),
      'memory.capture': ({ captured }: { captured: typeof keptItems }) => {
        if (away-- > 0) throw new ServiceError('UNAVAILABLE', 'away');
        keptItems.push(...captured);
        return { stored: captured.length };
      },
      'memory.forgetSession': () => ({ forgotten: 0 }),
    };
    await (await house.app.host.connect('memory')).serve(memory, handlers, { version: '0.0.0' });
    await sendMessage(house, 4);
    await compact(house);
    await sendMessage(house, 4);
    await compact(house);
    const deep = (await tree(house)).filter(({ depth }) => depth > 0).map(({ summaryId }) => summaryId);
    assert.equal(deep.length, 1);
    if (distillFromLcd.enabled) await waitUntil(() => keptItems.length > 0);
    await wait(100);
    memories.push(keptItems.map(({ turnId, ...one }) => [deep.includes(turnId), one]));
  }
  const one = { agentId: 'default', sessionKey: KEY, content: SUMMARY, memoryType: 'semantic', outside: false };
  assert.deepEqual(memories, [[], [[true, { ...one, sourceType: 'conversation', unlessAlike: 0.5 }]]]);
});
